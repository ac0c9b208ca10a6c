# SPDX-License-Identifier: Apache-2.0
"""Takes all annotations and declarations from the hand-written jobs, so that they run like jobs that know no recorder."""

import functools

import ringscope

for name in ("attention", "block", "log"):
    setattr(ringscope, name, lambda *_, **__: None)
ringscope.buffer = lambda tensor, *_, **__: tensor

import hand_job  # noqa: E402

run = functools.partial(hand_job.run, meant=None)
