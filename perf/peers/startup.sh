#!/bin/sh
# Compares how long a job takes to start: startup (oxshmem) and startup-nvshmem, in turns, each by oxshmem-run (NVSHMEM by a unique
# id in a file), and by Open MPI's mpirun if it is there (both by PMIx).
#
#   startup.sh PROGRAMS PEERS [RUNS [PES]]
#
# PROGRAMS holds startup and oxshmem-run (target/release, or bin of a bundle), PEERS what build.sh has built. 11 runs and 8 PEs
# unless said. Counted is from just before the launcher is started to the moment at which PE 0 has left the first barrier. Where a
# system cannot have so many PEs on the GPUs that there are, it says so and runs with one PE per GPU, and so does the other.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: $0 PROGRAMS PEERS [RUNS [PES]]" >&2
    exit 2
fi
programs=$(cd "$1" && pwd)
peers=$(cd "$2" && pwd)
runs=${3:-11}
pes=${4:-8}
gpus=$(nvidia-smi --list-gpus | wc -l)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A job that takes longer than these seconds hangs.
limit=120

# once SYSTEM LAUNCHER PES: one job; its seconds.
once() {
    rm -f "$folder/id"
    case $1-$2 in
        oxshmem-own) set -- "$1" "$2" "$3" "$programs/oxshmem-run" -n "$3" "$programs/startup" ;;
        nvshmem-own) set -- "$1" "$2" "$3" "$programs/oxshmem-run" -n "$3" "$peers/startup-nvshmem" "$folder/id" ;;
        oxshmem-mpi) set -- "$1" "$2" "$3" mpirun --allow-run-as-root --oversubscribe -n "$3" "$programs/startup" ;;
        nvshmem-mpi) set -- "$1" "$2" "$3" mpirun --allow-run-as-root --oversubscribe -n "$3" "$peers/startup-nvshmem" ;;
    esac
    shift 3
    STARTUP_BEGUN=$(date +%s%N) timeout "$limit" ${bootstrap:+env "NVSHMEM_BOOTSTRAP=$bootstrap"} "$@" \
        >"$folder/out" 2>"$folder/err" || {
        head -n 5 "$folder/err" >&2
        return 1
    }
    sed -n 's/.*start to barrier  \([0-9.]*\) s$/\1/p' "$folder/out"
}

# median FILE
median() {
    sort -n "$1" | awk '{ value[NR] = $1 } END { if (NR) print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'
}

if [ ! -x "$peers/startup-nvshmem" ]; then
    echo "no $peers/startup-nvshmem: build.sh builds it where it finds NVSHMEM" >&2
    exit 1
fi
if [ "$pes" -gt "$gpus" ] && ! { bootstrap=; once nvshmem own "$pes" >/dev/null; }; then
    echo "NVSHMEM has no $pes PEs on $gpus GPUs here (above is what it says): one PE per GPU instead"
    pes=$gpus
fi
launchers=own
if command -v mpirun >/dev/null; then launchers="own mpi"; fi
for launcher in $launchers; do
    # Of oxshmem-run no variable tells NVSHMEM anything; of mpirun it is to take PMIx.
    bootstrap=
    if [ "$launcher" = mpi ]; then bootstrap=PMIX; fi
    for system in oxshmem nvshmem; do : >"$folder/$system"; done
    # One of each that does not count: the files are read from the disk then.
    run=0
    while [ "$run" -le "$runs" ]; do
        for system in oxshmem nvshmem; do
            if ! seconds=$(once "$system" "$launcher" "$pes"); then
                echo "startup  $system by $launcher, $pes processes: did not run"
                continue 3
            fi
            if [ "$run" -gt 0 ]; then
                echo "$seconds" >>"$folder/$system"
                echo "startup  $system by $launcher, $pes processes, run $run  $seconds s"
            fi
        done
        run=$((run + 1))
    done
    for system in oxshmem nvshmem; do
        echo "startup  $system by $launcher, $pes processes, median of $runs  $(median "$folder/$system") s"
    done
done
