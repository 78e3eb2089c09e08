#!/bin/sh
# Converts an array by an array job of 16 tasks of AWS Batch, and writes the metadata when
# all of them have succeeded:
#
#     sh convert.aws-batch.sh QUEUE DEFINITION https://example.com/data.zarr s3://bucket/parts.zarr
#
# DEFINITION is a job definition whose image has deno, such as denoland/deno:2.9.6, and whose
# role may write to the bucket. AWS Batch counts the tasks from 0. A task that failed can run
# again. Submit the script again if the last job says what is missing: chunks that are there
# are not copied again.
set -eu
queue="$1" definition="$2" source="$3" target="$4"
convert="deno run -A jsr:@zarr-parts/zarr-parts/cli convert $source $target --suffix=.shard --parts=,.index"

# The container runs the command by its own shell, which knows the number of the task.
submit() {
  name="$1" command="$2"
  shift 2
  aws batch submit-job --job-name "$name" --job-queue "$queue" \
    --job-definition "$definition" --query jobId --output text \
    --container-overrides "{\"command\": [\"sh\", \"-c\", \"$command\"]}" "$@"
}

tasks=$(submit convert "exec $convert --share=\$((AWS_BATCH_JOB_ARRAY_INDEX + 1))/16" \
  --array-properties size=16 --retry-strategy attempts=3)
submit finish "exec $convert --resume" --depends-on "jobId=$tasks"
