#!/usr/bin/env bash
# Everything that only a GPU can tell, within 8 minutes: bench/gpu_check.sh [FOLDER]
#
# The doctor with its self-test, pytest -m gpu, compute-sanitizer on the kernel tests (if it is
# there), the microbenchmark, one PPI training and one of METR-LA. FOLDER (runs/gpu_check) keeps a
# log of each, what they measured as JSON, and summary.json with exit codes and seconds. Exit code 1
# if a step failed; without a GPU it says why and ends with 0. PYTHON names the interpreter.
set -uo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
out=${1:-runs/gpu_check}
mkdir -p "$out" || exit 1
gaancore=("$python" -c 'from gaancore.cli.main import main; main()')
steps=()
failed=0

# step NAME SECONDS COMMAND...: run it, for so long at most, with its output in NAME.log
step() {
    local name=$1 limit=$2 begun=$SECONDS code=0
    shift 2
    timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
    [ "$code" -eq 0 ] || failed=1
    steps+=("\"$name\": {\"exit_code\": $code, \"seconds\": $((SECONDS - begun))}")
    echo "$name: exit code $code, $((SECONDS - begun)) s; $(tail -n 1 "$out/$name.log")"
}

timeout 50 "${gaancore[@]}" doctor --json >"$out/doctor.json" || failed=1
reason=$("$python" -c 'import json, sys; print(json.load(sys.stdin)["gpu"]["reason"])' \
    <"$out/doctor.json") || { echo "the doctor failed: see $out/doctor.json"; exit 1; }
if [ -n "$reason" ]; then
    echo "not run on a GPU: $reason"
    exit 0
fi

step tests 150 "$python" -m pytest -m gpu -p no:cacheprovider
if command -v compute-sanitizer >/dev/null; then
    step sanitizer 70 compute-sanitizer --error-exitcode 1 \
        "$python" -m pytest -m gpu -p no:cacheprovider tests/cuda
else
    echo "sanitizer: compute-sanitizer is not installed: left out"
fi
step bench 70 "$python" bench/segment_ops.py --device cuda --json "$out/segment_ops.json" \
    --plot "$out/roofline.png"
step train 70 "${gaancore[@]}" train --task ppi --batch graphs --epochs 20 --quiet \
    --device cuda --out "$out/ppi-$(date +%H%M%S)"
step forecast 60 "${gaancore[@]}" train --task metr-la --epochs 1 --quiet \
    --device cuda --out "$out/metr-la-$(date +%H%M%S)"

(IFS=,; echo "{${steps[*]}}") >"$out/summary.json"
exit "$failed"
