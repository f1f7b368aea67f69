#!/bin/sh
# Builds the comparators into the folder $1: raw, and where their libraries are found, nvshmem and nccl.
# NVCC: the compiler to use. NVSHMEM_HOME, NCCL_HOME: folders with include/ and lib/; else the Python wheels are looked for.
# SMS: the architecture, sm_90 unless said. What cannot be built is named, and is no failure; only raw must build.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 FOLDER" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
arch=${SMS:-sm_90}

find_nvcc() {
    if [ -n "${NVCC:-}" ]; then echo "$NVCC"; return; fi
    if command -v nvcc; then return; fi
    for each in "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" /usr/local/cuda-13.0/bin/nvcc /usr/local/cuda-1*/bin/nvcc; do
        if [ -x "$each" ]; then echo "$each"; return; fi
    done
}

# The folder of the wheel $1 (nvshmem, nccl) that holds include/$2.
find_wheel() {
    command -v python3 >/dev/null || return 0
    python3 - "$1" "include/$2" <<'PYTHON'
import os, site, sys
places = list(sys.path) + site.getsitepackages() + [site.getusersitepackages()]
for place in places:
    home = os.path.join(place or ".", "nvidia", sys.argv[1])
    if os.path.isfile(os.path.join(home, sys.argv[2])):
        print(os.path.abspath(home))
        break
PYTHON
}

# The first file of the folder $1 that is called $2 or $2.N.
find_library() {
    for each in "$1/$2" "$1/$2".*; do
        if [ -e "$each" ]; then basename "$each"; return; fi
    done
}

nvcc=$(find_nvcc)
if [ -z "$nvcc" ]; then
    echo "no nvcc: set NVCC to its path; nothing is built" >&2
    exit 1
fi
"$nvcc" --version | tail -n 2 | head -n 1

flags="-std=c++17 -O3 -arch=$arch --cudart static ${NVCC_FLAGS:-}"

# timed NAME COMMAND...
timed() {
    name=$1
    shift
    start=$(date +%s)
    "$@"
    echo "built $name in $(($(date +%s) - start)) s"
}

if command -v c++ >/dev/null; then
    c++ -std=c++17 -Wall -Wextra -o "$out/protocol-check" "$here/protocol_check.cpp"
    "$out/protocol-check"
fi

timed raw "$nvcc" $flags -o "$out/raw" "$here/raw.cu"

nvshmem=${NVSHMEM_HOME:-$(find_wheel nvshmem nvshmem.h)}
host=
if [ -n "$nvshmem" ]; then host=$(find_library "$nvshmem/lib" libnvshmem_host.so); fi
if [ -n "$host" ]; then
    timed nvshmem "$nvcc" $flags -rdc=true -I "$nvshmem/include" -o "$out/nvshmem" "$here/nvshmem.cu" \
        -L "$nvshmem/lib" -lnvshmem_device "-l:$host" -ldl -lrt -lpthread -Xlinker "-rpath=$nvshmem/lib"
    timed startup-nvshmem "$nvcc" $flags -rdc=true -I "$nvshmem/include" -o "$out/startup-nvshmem" \
        "$here/startup_nvshmem.cu" -L "$nvshmem/lib" -lnvshmem_device "-l:$host" -ldl -lrt -lpthread \
        -Xlinker "-rpath=$nvshmem/lib"
else
    echo "no NVSHMEM (wheel nvidia-nvshmem-cu13, or NVSHMEM_HOME): nvshmem is not built" >&2
fi

nccl=${NCCL_HOME:-$(find_wheel nccl nccl.h)}
library=
if [ -n "$nccl" ]; then library=$(find_library "$nccl/lib" libnccl.so); fi
if [ -n "$library" ]; then
    timed nccl "$nvcc" $flags -I "$nccl/include" -o "$out/nccl" "$here/nccl.cu" -L "$nccl/lib" "-l:$library" \
        -Xlinker "-rpath=$nccl/lib"
else
    echo "no NCCL (wheel nvidia-nccl-cu13, or NCCL_HOME): nccl is not built" >&2
fi
