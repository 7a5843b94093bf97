"""The adapter for skpro, by skpro's own checks."""

from __future__ import annotations

import pytest

pytest.importorskip("skpro")
pytest.importorskip("pandas")

from skpro.utils.estimator_checks import check_estimator


@pytest.mark.filterwarnings("ignore")
def test_the_adapter_has_skpro_s_interface():
    from deepgp.skpro import DeepGPProba

    results = check_estimator(DeepGPProba, raise_exceptions=False, verbose=False)
    failed = {name: outcome for name, outcome in results.items() if outcome != "PASSED"}
    assert len(results) > 20 and not failed, failed


@pytest.mark.filterwarnings("ignore")
def test_the_distributions_have_skpro_s_interface():
    from deepgp.skpro import DeepGPDistribution

    results = check_estimator(DeepGPDistribution, raise_exceptions=False, verbose=False)
    failed = {name: outcome for name, outcome in results.items() if outcome != "PASSED"}
    assert len(results) > 20 and not failed, failed
