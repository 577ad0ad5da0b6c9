import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from quell.threads import single_threaded


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_has_one_thread_inside_and_the_former_number_after():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        assert max(before) == 2
