from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from falai.store.worker import Worker


async def _stop(worker: Worker) -> None:
    await asyncio.to_thread(worker.stop)


async def test_work_runs_in_order_on_one_thread() -> None:
    """What comes first is done first, and never on the event loop's thread."""
    worker = Worker("w", lambda: None)
    done: list[int] = []
    threads = await asyncio.gather(
        *(worker.run(lambda n=n: (done.append(n), threading.current_thread().name)[1]) for n in range(50))
    )
    assert (done, set(threads)) == (list(range(50)), {"w"})
    await _stop(worker)


async def test_errors_come_back() -> None:
    """As they were raised; the thread goes on."""
    worker = Worker("w", lambda: None)
    with pytest.raises(ZeroDivisionError):
        await worker.run(lambda: 1 / 0)
    with pytest.raises(SystemExit):
        await worker.run(lambda: sys.exit(1))
    assert await worker.run(lambda: "still there") == "still there"
    await _stop(worker)


async def test_work_that_is_cancelled() -> None:
    """What has begun ends, what has not begun never happens, and what comes later is done."""
    worker = Worker("w", lambda: None)
    begun, go = threading.Event(), threading.Event()
    done: list[str] = []

    def first() -> None:
        begun.set()
        go.wait()
        done.append("first")

    tasks = [asyncio.ensure_future(worker.run(work)) for work in (first, lambda: done.append("second"))]
    await asyncio.to_thread(begun.wait)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    go.set()
    await worker.run(lambda: done.append("third"))
    assert done == ["first", "third"]
    await _stop(worker)


def test_a_loop_that_is_gone() -> None:
    """Work whose loop was closed ends without anybody to tell; the next loop is served."""
    worker = Worker("w", lambda: None)
    go = threading.Event()

    async def leave() -> None:
        task = asyncio.ensure_future(worker.run(go.wait))
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(leave())
    go.set()
    assert asyncio.run(worker.run(lambda: 1)) == 1
    worker.stop()


async def test_stop_does_what_was_given() -> None:
    """Work that waits is done before the end, and the end is said once."""
    ends: list[str] = []
    worker = Worker("w", lambda: ends.append(threading.current_thread().name))
    tasks = [asyncio.ensure_future(worker.run(lambda n=n: n)) for n in range(5)]
    await asyncio.sleep(0)
    await _stop(worker)
    assert await asyncio.gather(*tasks) == list(range(5))
    assert ends == ["w"]


FORGETS = """
import asyncio, time
from falai.store.worker import Worker

async def main():
    worker = Worker("w", lambda: print("ended", flush=True))
    task = asyncio.ensure_future(worker.run(lambda: (time.sleep(0.1), print("worked", flush=True))))
    await asyncio.sleep(0)

asyncio.run(main())
"""


def test_a_program_that_forgets_to_stop() -> None:
    """It ends, after the work that has begun."""
    said = subprocess.run([sys.executable, "-c", FORGETS], capture_output=True, text=True, timeout=30, check=True)
    assert said.stdout.split() in (["worked", "ended"], ["ended"])
    assert said.stderr == ""
