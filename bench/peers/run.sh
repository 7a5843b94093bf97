#!/bin/sh
# All peers on all sets, one process and one thread at a time: ./run.sh DATA OUT.jsonl; what OUT holds is not repeated.
# PYTHON names the interpreter that has the packages of requirements.txt.
set -eu
data=$(realpath "$1")
out=$(realpath "$2")
cd "$(dirname "$0")"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
for peer in frequencies lightgbm linear catboost laplace svgp; do
    nice -n 15 "${PYTHON:-python3}" run.py "$peer" --data "$data" --out "$out" --splits "${SPLITS:-20}"
done
"${PYTHON:-python3}" table.py "$out"
