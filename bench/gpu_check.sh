#!/usr/bin/env bash
# Everything that only a GPU can tell, on one page: bench/gpu_check.sh [--tiny] [FOLDER]
#
# The doctor with its self-test; a training that fills the caches of compiled kernels; pytest -m gpu,
# where a skipped test is a failure; compute-sanitizer on one file of tests, if it is there; the
# microbenchmark; trainings of PPI and METR-LA. FOLDER (runs/gpu_check-TIME, new) keeps a log of each
# and page.md. Exit code 0 only if all of it ran on a GPU and passed; what ran out of time is said.
#
# PYTHON is the interpreter of gaancore, PEER_PYTHON one with torch, PyG or DGL to compare with.
# Each step's limit suits a machine whose caches are empty; PATIENCE=2 doubles them all. --tiny makes
# the inputs small, for the emulator in a GPU's place.
set -uo pipefail
cd "$(dirname "$0")/.."

tiny=0
if [ "${1:-}" = --tiny ]; then
    tiny=1
    shift
fi
python=${PYTHON:-python3}
out=${1:-runs/gpu_check-$(date +%Y%m%d-%H%M%S)}
if [ -e "$out" ]; then
    echo "$out: is there already; choose another folder" >&2
    exit 2
fi
mkdir -p "$out" || exit 2
gaancore=("$python" -c 'from gaancore.cli.main import main; main()')
export GAANCORE_NEED_GPU=1

# step NAME SECONDS COMMAND...: run it, for so long at most, with its output in NAME.log
step() {
    local name=$1 limit=$(($2 * ${PATIENCE:-1})) begun=$SECONDS code=0 said
    shift 2
    timeout --kill-after=10 "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
    said="exit code $code"
    if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
        said="timed out after $limit s"
    fi
    printf '%s\t%s\t%s\t%s\n' "$name" "$code" "$((SECONDS - begun))" "$limit" >>"$out/steps.tsv"
    echo "$name: $said, $((SECONDS - begun)) s; $(tail -n 1 "$out/$name.log")"
}

page() {
    "$python" bench/gpu_page.py "$out"
    exit $?
}

if [ "$tiny" -eq 1 ]; then
    small=(--heads 2 --embed-dim 4 --out-dim 4 --key-dim 2 --value-dim 2 --gate-dim 2 --epochs 2)
    few=(--heads 1 --history 2 --horizon 2 --set hidden_dim=4 --set num_layers=1 --epochs 2)
    sizes=(--profiles tiny --repeats 3)
else
    small=(--epochs 20) few=(--epochs 3) sizes=(--profiles ppi,reddit-b0)
fi
ppi=("${gaancore[@]}" train --task ppi --batch graphs --device cuda --quiet
    --set validate_every=0 "${small[@]}")
metr_la=("${gaancore[@]}" train --task metr-la --device cuda --quiet "${few[@]}")

# the doctor's standard output is JSON, and what else it says goes to its log
step doctor 300 sh -c 'exec "$@" >"$0"' "$out/doctor.json" "${gaancore[@]}" doctor --json
reason=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["gpu"]["reason"])' \
    "$out/doctor.json" 2>/dev/null) || page # it says why
if [ -n "$reason" ]; then
    echo "not run on a GPU: $reason"
    exit 1
fi

step warm 300 "${ppi[@]}" --epochs 1 --out "$out/warm"
step tests 900 "$python" -m pytest -m gpu -p no:cacheprovider --junitxml "$out/tests.xml"
if command -v compute-sanitizer >/dev/null; then
    step sanitizer 400 compute-sanitizer --error-exitcode 1 "$python" -m pytest -m gpu \
        -p no:cacheprovider -k "not billion" tests/cuda/test_cuda_kernels.py
else
    echo "sanitizer: compute-sanitizer is not installed: left out"
fi
step bench 300 "$python" bench/segment_ops.py --device cuda "${sizes[@]}" \
    --json "$out/segment_ops.json" --plot "$out/roofline.png" \
    ${PEER_PYTHON:+--peer-python "$PEER_PYTHON"}
step train 240 "${ppi[@]}" --out "$out/ppi"
step forecast 300 "${metr_la[@]}" --out "$out/metr-la"
page
