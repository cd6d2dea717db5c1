#!/usr/bin/env bash
# The bundle of tools/gpu-bundle, put together and started on a machine without the device that is asked for: it says so,
# ends with 5, and its results say why. gpu_bundle_test.sh SOURCE BUILD
set -uo pipefail
source=$1 build=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
fail() { echo "gpu_bundle_test: $*" >&2; exit 1; }

"$source/tools/gpu-bundle" --build "$build" --folder "$folder/gpu-bundle" --unpacked || fail "the bundle cannot be put together"
# Nothing but the bundle and the system: not the build it came from.
answer=$(cd / && env -i PATH=/usr/bin:/bin "$folder/gpu-bundle/run" --device cuda:99 2>&1)
status=$?
[ $status = 5 ] || fail "it ended with $status instead of 5: $answer"
[[ $answer == *"no device"*"cuda:99"* ]] || fail "it does not say that there is no device: $answer"
python3 - "$folder/gpu-bundle/results.json" <<'END' || fail "its results are not as they should be"
import json, sys
results = json.load(open(sys.argv[1]))
assert results["device"] is None and results["reason"]["code"] == 5, results
END
env -i PATH=/usr/bin:/bin "$folder/gpu-bundle/run" --nonsense 2>/dev/null
[ $? = 2 ] || fail "an unknown argument is not refused"
env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH="$folder/gpu-bundle/lib" "$folder/gpu-bundle/bin/pt-make-networks" "$folder/networks" 1 |
  grep -c ' nodes$' | grep -qx 9 || fail "not all networks were made"
echo "1 passed, 0 failed"
