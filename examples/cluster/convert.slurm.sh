#!/bin/sh
# Converts an array by 16 tasks of Slurm, writes the metadata when they have ended, and
# verifies the result:
#
#     sh convert.slurm.sh data.zarr parts.zarr
#
# Slurm starts a preempted task again, and the task continues. What a failed task has left
# undone, the last job does, which runs with --resume in place of --share.
#
# ZARR_PARTS is the program: zarr-parts, if it is not set.
set -eu
export SOURCE="$1" TARGET="$2" ZARR_PARTS="${ZARR_PARTS:-zarr-parts}"
convert='$ZARR_PARTS convert "$SOURCE" "$TARGET" --suffix .shard --parts ,.index'

tasks=$(sbatch --parsable --job-name=convert --requeue --array=1-16 \
  --wrap "$convert --share \$SLURM_ARRAY_TASK_ID/16")
last=$(sbatch --parsable --job-name=finish --dependency="afterany:$tasks" \
  --wrap "$convert --resume")
sbatch --job-name=verify --dependency="afterok:$last" --kill-on-invalid-dep=yes \
  --array=1-4 --wrap '$ZARR_PARTS verify "$TARGET" --share $SLURM_ARRAY_TASK_ID/4'
