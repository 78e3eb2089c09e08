#!/bin/sh
# Converts an array with 16 tasks of Slurm, and writes the metadata when all are done:
#
#     sh convert.slurm.sh data.zarr parts.zarr
#
# A task that fails or is preempted may run again, at any time:
# sbatch --array=3 with the same command, and --share=4/16 in place of the variables.
set -eu
source=$1
target=$2
convert="zarr-parts convert $source $target --suffix .shard --parts ,.index"

job=$(sbatch --parsable --requeue --array=0-15 --wrap "$convert")
sbatch --dependency="afterok:$job" --wrap "$convert --finish"
