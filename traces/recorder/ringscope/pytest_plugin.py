# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin with the fixture assert_merge. Name it in a conftest.py:

    pytest_plugins = ["ringscope.pytest_plugin"]
"""

import pytest

from ._merge_check import check_merge


@pytest.fixture
def assert_merge():
    """Returns a function that takes the arguments of ringscope.check_merge and returns its MergeCheck.

    It raises AssertionError with the sentence of the check if the merge is not right.
    """

    def check(*tensors, **options):
        __tracebackhide__ = True
        result = check_merge(*tensors, **options)
        if not result:
            raise AssertionError(str(result))
        return result

    return check
