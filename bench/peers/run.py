"""Runs one peer on sets and splits, and appends a JSON line for each set, peer and split that is not there yet."""

import argparse
import importlib
import json
import os
import platform
import time
from importlib import metadata
from pathlib import Path

for threads in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"]:
    os.environ.setdefault(threads, "1")

import data  # noqa: E402
import scores  # noqa: E402

LABELS = ["two classes", "several classes"]
PEERS = {  # module, and its functions with their tasks
    "frequencies": ("frequencies", {"labels": LABELS + ["levels"], "counts": ["counts"]}),
    "lightgbm": (
        "boosting",
        {
            "lightgbm_labels": LABELS + ["levels"],
            "lightgbm_normal_levels": ["levels"],
            "lightgbm_counts": ["counts"],
            "lightgbm_normal_counts": ["counts"],
        },
    ),
    "catboost": ("boosting", {"catboost_labels": LABELS + ["levels"]}),
    "linear": ("linear", {"logistic": LABELS, "cumulative": ["levels"], "negative_binomial": ["counts"]}),
    "laplace": ("laplace", {"labels": LABELS}),
    "svgp": ("svgp", {"labels": LABELS}),
    "deepgp": ("deepgp", {"labels": LABELS + ["levels"], "counts": ["counts"]}),
}


def processor():
    """The processor's name as the system gives it."""
    try:
        fields = dict(
            [part.strip() for part in line.split(":", 1)]
            for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        )
        return f"{fields['model name']}, family {fields['cpu family']}, model {fields['model']}"
    except (OSError, KeyError):
        return platform.processor()


def versions(module):
    """Versions of Python and of the packages that the peer's module names, where they are installed."""
    found = {"python": platform.python_version()}
    for name in module.SOFTWARE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=[*PEERS, "splits"], help="`splits` writes the grouped split files instead")
    parser.add_argument("--data", required=True, help="folder with one sub-folder for each set")
    parser.add_argument("--out", help="file of JSON lines")
    parser.add_argument("--sets", nargs="*", default=list(data.TASK))
    parser.add_argument("--splits", type=int, default=20, help="the first so many splits of each set")
    arguments = parser.parse_args()
    if arguments.peer == "splits":
        return data.write_grouped(arguments.data)
    out = Path(arguments.out)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(line["set"], line["module"], line["function"], line["split"]) for line in lines}
    where, functions = PEERS[arguments.peer]
    module = importlib.import_module(where)
    for name in arguments.sets:
        chosen = [function for function, tasks in functions.items() if data.TASK[name] in tasks]
        if not chosen:
            continue
        table = data.load(arguments.data, name)
        for split, test in list(enumerate(data.splits(arguments.data, name)))[: arguments.splits]:
            part = data.Part(table, test, name.endswith(data.GROUPED))
            for function in chosen:
                if (name, where, function, split) not in done:
                    write(out, measure(name, split, part, module, function))
    return None


def processor_time():
    """Seconds of the processor for this process and the programs that it has run."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def measure(name, split, part, module, function):
    """The lines of all models of one function on one split."""
    lines = []
    task = data.TASK[name]
    wall, busy = time.perf_counter(), processor_time()
    for peer, settings, *predicted in getattr(module, function)(part, split):
        seconds, processor_seconds = time.perf_counter() - wall, processor_time() - busy
        if task == "counts":
            found = scores.of_counts(*predicted, part.y_test)
        else:
            found = scores.of_labels(*predicted, part.y_test, ordered=task == "levels")
        line = {"task": task, "set": name, "peer": peer, "split": split}
        line |= {"n_train": len(part.y), "n_test": len(part.y_test)}
        line |= {"seconds": round(seconds, 3), "processor_seconds": round(processor_seconds, 3)}
        line |= {"settings": settings, "scores": found, "module": module.__name__, "function": function}
        lines.append(line | {"software": versions(module), "processor": processor()})
        error = found.get("error", float("nan"))
        print(f"{name:18} {split:2} {peer:40} {found['log_prob']:8.4f} {error:7.4f} {seconds:7.1f} s", flush=True)
        if not getattr(module, "ONE_AFTER_THE_OTHER", False):
            wall, busy = time.perf_counter(), processor_time()
    return lines


def write(out, lines):
    """Appends the lines of one peer on one split together."""
    with open(out, "a") as file:
        file.write("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


if __name__ == "__main__":
    main()
