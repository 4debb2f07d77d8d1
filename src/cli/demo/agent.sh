#!/bin/sh
# A scripted agent: what a coding agent does in its session, without a model. It runs in the worktree of its lane.
set -eu
fairway claim
fairway checkpoint record T-1 --state active --summary "found it: the quantity is never used"
sed 's/sum += [$]2/sum += $2 * $3/' cart.awk >cart.new
mv cart.new cart.awk
git commit --quiet --all --message "the total counts the quantity"
fairway evidence run T-1 --check total
fairway task submit T-1
