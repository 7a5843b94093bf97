"""Prints a record as Markdown, for each set and peer mean ± standard error: table.py RECORD [SPLITS [SET …]]."""

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import data
import scores

COLUMNS = {
    "two classes": [("log_prob", 4), ("error", 4), ("auc", 4), ("brier", 4)],
    "several classes": [("log_prob", 4), ("error", 4), ("brier", 4)],
    "levels": [("log_prob", 4), ("error", 4), ("rps", 4), ("brier", 4)],
    "counts": [("log_prob", 4), ("rmse", 2), ("mean_absolute_error", 2)],
}
HEADS = {"log_prob": "log probability", "auc": "AUC", "brier": "Brier", "rps": "RPS", "rmse": "RMSE"}


def cell(lines, score, digits):
    """Mean ± standard error over splits; over rows, where there is one split and rows have an error."""
    values = [line["scores"][score] for line in lines if line["scores"].get(score) is not None]
    text = f"{np.mean(values):.{digits}f}"
    if len(values) > 1:
        return f"{text} ± {np.std(values, ddof=1) / len(values) ** 0.5:.{digits}f}"
    if score == "log_prob":
        return f"{text} ± {lines[0]['scores']['log_prob_se']:.{digits}f}"
    return text


def main():
    splits = int(sys.argv[2]) if len(sys.argv) > 2 else sys.maxsize
    sets = sys.argv[3:]
    found = defaultdict(lambda: defaultdict(list))
    for text in Path(sys.argv[1]).read_text().splitlines():
        line = json.loads(text)
        if line["split"] < splits and (not sets or line["set"] in sets):
            found[line["set"]][line["peer"]].append(line)
    for name, task in data.TASK.items():
        if name not in found:
            continue
        peers = sorted(found[name].items(), key=lambda item: -np.mean([v["scores"]["log_prob"] for v in item[1]]))
        first = peers[0][1][0]
        print(f"**{name}** ({task}, {first['n_train']} rows, tested on {first['n_test']})\n")
        heads = [HEADS.get(score, score.replace("_", " ")) for score, _ in COLUMNS[task]]
        print("| peer | " + " | ".join(heads) + " | splits | seconds |\n|---" + "|---:" * (len(heads) + 2) + "|")
        for peer, lines in peers:
            cells = [cell(lines, score, digits) for score, digits in COLUMNS[task]]
            seconds = np.mean([line["processor_seconds"] for line in lines])
            print(f"| {peer} | " + " | ".join(cells) + f" | {len(lines)} | {seconds:.1f} |")
        print()
        for peer, lines in peers:
            bins = [scores.within_chance(line["scores"]["reliability"]) for line in lines if "reliability" in line["scores"]]
            if bins:
                count, inside = np.sum(bins, axis=0)
                print(f"Reliability of {peer}: {inside} of {count} bins within the central 95 % of chance.\n")


if __name__ == "__main__":
    main()
