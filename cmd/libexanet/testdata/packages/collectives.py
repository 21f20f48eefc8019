"""Every collective, mode and kind of object of mpi4py, checked where they are used.

mpi4py asks for MPI_THREAD_MULTIPLE. Each rank prints nothing but what it finds wrong;
rank 0 prints a line for each part.
"""
import array
import sys
import threading

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
right, left = (rank + 1) % size, (rank - 1) % size


def check(found, expected):
    if found != expected:
        where = sys._getframe(1)
        print(f"rank {rank}, line {where.f_lineno}: {found!r}, not {expected!r}", flush=True)
        world.Abort(1)


def ints(*values):
    return array.array("i", values)


def zeros(n):
    return array.array("i", [0] * n)


def part(f):
    f()
    world.Barrier()
    if rank == 0:
        print(f.__name__, flush=True)


@part
def modes():
    MPI.Attach_buffer(bytearray(1 << 20))
    for n in (0, 1, 100, 5000, 100000):
        out = array.array("i", range(rank, rank + n))
        expected = array.array("i", range(left, left + n))
        for begin in (world.Isend, world.Issend, world.Ibsend):
            if begin == world.Ibsend and n > 5000:
                continue
            box = zeros(n)
            request = begin(out, right, 1)
            status = MPI.Status()
            world.Recv(box, left, MPI.ANY_TAG, status)
            request.Wait()
            check(box, expected)
            check((status.source, status.tag, status.Get_count(MPI.INT)), (left, 1, n))
        box = zeros(n)
        request = world.Irecv(box, MPI.ANY_SOURCE, 2)
        world.Barrier()
        world.Rsend(out, right, 2)
        request.wait()
        check(box, expected)
        box = zeros(n)
        world.Sendrecv(out, right, 3, box, left, 3)
        check(box, expected)
        box = out[:]
        world.Sendrecv_replace(box, right, 4, left, 4)
        check(box, expected)
        for send, receive in ((world.Send, world.Recv), (world.Ssend, world.Recv), (world.Bsend, world.Recv)):
            if send == world.Bsend and n > 5000:
                continue
            box = zeros(n)
            if rank % 2 == 0 and right != 0:
                send(out, right, 5)
            if rank % 2 == 1:
                receive(box, left, 5)
                check(box, expected)
    MPI.Detach_buffer()
    world.Send(ints(1), MPI.PROC_NULL)
    world.Recv(zeros(1), MPI.PROC_NULL)


@part
def objects():
    thing = {"from": rank, "list": list(range(1000)), "text": "x" * 100000}
    expected = dict(thing, **{"from": left})
    for begin in (world.isend, world.issend):
        request = begin(thing, right, 7)
        check(world.recv(source=left, tag=7), expected)
        request.wait()
    check(world.sendrecv(thing, right, source=left), expected)
    request = world.irecv(1 << 20, left, 8)
    world.send(thing, right, 8)
    check(request.wait(), expected)
    request = world.irecv(source=left, tag=9)
    world.isend((rank,), right, 9).wait()
    done, got = request.test()
    while not done:
        done, got = request.test()
    check(got, (left,))
    requests = [world.isend(i * rank, right, i) for i in range(20)]
    check([world.recv(source=left, tag=i) for i in reversed(range(20))], [i * left for i in reversed(range(20))])
    MPI.Request.waitall(requests)
    check(world.bcast(thing if rank == size - 1 else None, size - 1), dict(thing, **{"from": size - 1}))
    check(world.gather((rank, "a"), 0), [(i, "a") for i in range(size)] if rank == 0 else None)
    check(world.scatter([[i] * i for i in range(size)] if rank == 0 else None), [rank] * rank)
    check(world.allgather("r" * rank), ["r" * i for i in range(size)])
    check(world.alltoall([(rank, i) for i in range(size)]), [(i, rank) for i in range(size)])
    check(world.reduce([rank], MPI.SUM, size - 1), list(range(size)) if rank == size - 1 else None)
    check(world.allreduce(rank, MPI.MAX), size - 1)
    check(world.allreduce(1 << rank, MPI.BOR), (1 << size) - 1)
    check(world.allreduce((rank, "x"), op=lambda a, b: max(a, b)), (size - 1, "x"))
    check(world.scan(rank + 1), (rank + 1) * (rank + 2) // 2)
    check(world.exscan(rank + 1), rank * (rank + 1) // 2 if rank else None)
    check(world.allreduce((rank % 3, rank), MPI.MINLOC), (0, 0))


@part
def probes():
    world.isend("hello", right, 11)
    status = MPI.Status()
    world.probe(MPI.ANY_SOURCE, 11, status)
    check(status.source, left)
    check(world.recv(source=left, tag=11), "hello")
    request = world.Isend(bytes(70000), right, 12)
    while not world.Iprobe(left, 12, status):
        pass
    check(status.Get_count(MPI.BYTE), 70000)
    message = world.Mprobe(left, 12)
    box = bytearray(70000)
    message.Recv(box)
    request.Wait()
    request = world.isend([rank], right, 13)
    message = None
    while message is None:
        message = world.improbe(left, 13)
    check(message.recv(), [left])
    request.wait()
    request = world.Isend(ints(rank), right, 14)
    message = world.mprobe(left, 14)
    box = zeros(1)
    message.Irecv(box).Wait()
    check(box[0], left)
    request.Wait()
    check(MPI.Message.Probe(world, MPI.PROC_NULL) == MPI.MESSAGE_NO_PROC, True)


@part
def requests():
    box, out = zeros(10), ints(*[rank] * 10)
    persistent = [world.Recv_init(box, left, 20), world.Send_init(out, right, 20)]
    for i in range(5):
        out[0] = i
        MPI.Prequest.Startall(persistent)
        MPI.Request.Waitall(persistent)
        check(box[0], i)
    world.Barrier()
    ssend = world.Ssend_init(out, right, 21)
    receive = world.Irecv(box, left, 21)
    ssend.Start()
    index = {MPI.Request.Waitany([ssend, receive]), MPI.Request.Waitany([ssend, receive])}
    check(MPI.UNDEFINED not in index or len(index) == 2, True)
    MPI.Request.Waitall([receive])
    ssend.Wait()
    for p in persistent + [ssend]:
        p.Free()
    some = [world.Irecv(memoryview(box)[i:i + 1], left, 30 + i) for i in range(10)]
    sends = [world.Isend(ints(i), right, 30 + i) for i in range(10)]
    left_over = 10
    while left_over:
        done = MPI.Request.Waitsome(some)
        left_over -= len(done)
    check(list(box), list(range(10)))
    while not MPI.Request.Testall(sends):
        pass
    check(MPI.Request.Testany([MPI.REQUEST_NULL])[1], True)
    never = world.Irecv(box, left, 99)
    never.Cancel()
    status = MPI.Status()
    never.Wait(status)
    check(status.Is_cancelled(), True)
    asked = world.Irecv(box, left, 31)
    world.Send(ints(7), right, 31)
    while not asked.Get_status():
        pass
    check(asked.Test(), True)


def all_ways(comm, blocking, *args):
    """The blocking form and the one that is waited for."""
    getattr(comm, blocking)(*args)
    yield
    request = getattr(comm, "I" + blocking.lower())(*args)
    while not request.Test():
        pass
    yield


@part
def buffers():
    for n in (1, 3, 1000, 40000):
        mine = ints(*[rank + 1] * n)
        everybody = array.array("i", [i + 1 for i in range(size) for _ in range(n)])
        summed = ints(*[size * (size + 1) // 2] * n)
        root = size - 1
        box = mine[:] if rank == root else zeros(n)
        for _ in all_ways(world, "Bcast", box, root):
            check(box, ints(*[size] * n))
        box = zeros(n * size)
        for _ in all_ways(world, "Gather", mine, box if rank == root else None, root):
            check(box, everybody if rank == root else zeros(n * size))
        for _ in all_ways(world, "Allgather", mine, box):
            check(box, everybody)
        box = zeros(n)
        for _ in all_ways(world, "Scatter", everybody if rank == 0 else None, box, 0):
            check(box, mine)
        table, box = ints(*[rank * size + i for i in range(size) for _ in range(n)]), zeros(n * size)
        for _ in all_ways(world, "Alltoall", table, box):
            check(box, array.array("i", [i * size + rank for i in range(size) for _ in range(n)]))
        box = zeros(n)
        for _ in all_ways(world, "Reduce", mine, box if rank == root else None, MPI.SUM, root):
            check(box, summed if rank == root else zeros(n))
        for _ in all_ways(world, "Allreduce", mine, box, MPI.SUM):
            check(box, summed)
        for _ in all_ways(world, "Scan", mine, box, MPI.SUM):
            check(box[n - 1], (rank + 1) * (rank + 2) // 2)
        for _ in all_ways(world, "Exscan", mine, box, MPI.SUM):
            check(rank == 0 or box[0] == rank * (rank + 1) // 2, True)
        for _ in all_ways(world, "Reduce_scatter_block", everybody, box, MPI.MAX):
            check(box, mine)
        for _ in all_ways(world, "Reduce_scatter", everybody, box, [n] * size, MPI.SUM):
            check(box[0], size * (rank + 1))
    for _ in all_ways(world, "Barrier"):
        pass


@part
def vectors():
    counts = [i + 1 for i in range(size)]
    displs = [i * (i + 1) // 2 for i in range(size)]
    whole = array.array("i", [i for i in range(size) for _ in range(i + 1)])
    mine, n = ints(*[rank] * (rank + 1)), len(whole)
    box = zeros(n)
    for _ in all_ways(world, "Allgatherv", mine, [box, counts, displs, MPI.INT]):
        check(box, whole)
    box = zeros(n)
    for _ in all_ways(world, "Gatherv", mine, [box, counts, displs, MPI.INT] if rank == 0 else None, 0):
        check(box, whole if rank == 0 else zeros(n))
    box = zeros(rank + 1)
    for _ in all_ways(world, "Scatterv", [whole, counts, displs, MPI.INT] if rank == 0 else None, box, 0):
        check(box, mine)
    send = array.array("i", [rank * 100 + i for i in range(size) for _ in range(i + 1)])
    box = zeros(size * (rank + 1))
    there = [rank + 1] * size, [i * (rank + 1) for i in range(size)]
    expected = array.array("i", [i * 100 + rank for i in range(size) for _ in range(rank + 1)])
    for _ in all_ways(world, "Alltoallv", [send, counts, displs, MPI.INT], [box, *there, MPI.INT]):
        check(box, expected)
    box = zeros(size * (rank + 1))
    bytewise = [[4 * d for d in l] for l in (displs, there[1])]
    kinds = [MPI.INT] * size
    for _ in all_ways(world, "Alltoallw", [send, counts, bytewise[0], kinds], [box, there[0], bytewise[1], kinds]):
        check(box, expected)


@part
def in_place():
    box = zeros(size)
    box[rank] = rank
    world.Allgather(MPI.IN_PLACE, box)
    check(list(box), list(range(size)))
    world.Allreduce(MPI.IN_PLACE, box)
    check(list(box), [i * size for i in range(size)])
    box = ints(*[10 * rank + i for i in range(size)])
    world.Alltoall(MPI.IN_PLACE, box)
    check(list(box), [10 * i + rank for i in range(size)])
    box = ints(rank)
    world.Scan(MPI.IN_PLACE, box)
    check(box[0], rank * (rank + 1) // 2)
    box = ints(rank)
    world.Reduce(MPI.IN_PLACE if rank == 0 else box, box if rank == 0 else None)
    check(rank > 0 or box[0] == size * (size - 1) // 2, True)
    box = ints(*range(size))
    world.Reduce_scatter_block(MPI.IN_PLACE, box)
    check(box[0], rank * size)
    box = ints(*range(size))
    world.Scatter(box if rank == 0 else None, MPI.IN_PLACE if rank == 0 else box[:1])


@part
def types():
    grid = array.array("i", range(rank, rank + 100))
    column = MPI.INT.Create_vector(10, 1, 10).Commit()
    box = zeros(10)
    world.Sendrecv([grid, 1, column], right, 0, box, left, 0)
    check(box, array.array("i", range(left, left + 100, 10)))
    narrow = column.Create_resized(0, 4).Commit()
    turned = zeros(100)
    world.Sendrecv([grid, 10, narrow], right, 0, turned, left, 0)
    check(list(turned), [left + 10 * j + i for i in range(10) for j in range(10)])
    box = zeros(100 * size)
    world.Allgather([grid, 10, narrow], box)
    check(box[100 * size - 1], size - 1 + 99)
    square = MPI.INT.Create_subarray([10, 10], [3, 3], [2, 4]).Commit()
    box = zeros(9)
    world.Sendrecv([grid, 1, square], right, 0, box, left, 0)
    check(list(box), [left + 10 * i + j for i in range(2, 5) for j in range(4, 7)])
    mixed = MPI.Datatype.Create_struct([1, 3], [0, 8], [MPI.DOUBLE, MPI.INT]).Commit()
    buf, got = bytearray(range(40)), bytearray(40)
    world.Sendrecv([buf, 1, mixed], right, 0, [got, 1, mixed], left, 0)
    check(got[:20], buf[:20])
    picked = MPI.INT.Create_indexed([2, 1, 3], [90, 0, 50]).Commit()
    box = zeros(6)
    world.Sendrecv([grid, 1, picked], right, 0, box, left, 0)
    check(list(box), [left + i for i in (90, 91, 0, 50, 51, 52)])
    packed = bytearray(picked.Pack_size(1, world))
    end = picked.Pack(grid, packed, 0, world)
    world.Sendrecv_replace([packed, end, MPI.PACKED], right, 0, left, 0)
    picked.Unpack(packed, 0, grid, world)
    check([grid[i] for i in (90, 0, 50)], [left + i for i in (90, 0, 50)])
    for kind, code in ((MPI.DOUBLE, "d"), (MPI.FLOAT, "f"), (MPI.SHORT, "h"), (MPI.LONG, "l"), (MPI.UNSIGNED_CHAR, "B")):
        box = array.array(code, [0])
        world.Allreduce([array.array(code, [rank + 1]), kind], [box, kind])
        check(box[0], size * (size + 1) // 2)
    for t in (column, narrow, square, mixed, picked):
        t.Free()


@part
def operators():
    def first(a, b, kind):
        x, y = memoryview(a).cast("i"), memoryview(b).cast("i")
        for i in range(len(x)):
            y[i] = x[i]

    def joined(a, b, kind):  # digits of numbers and the power of ten that they need
        x, y = memoryview(a).cast("i"), memoryview(b).cast("i")
        for i in range(0, len(x), 2):
            y[i], y[i + 1] = x[i] * y[i + 1] + y[i], x[i + 1] * y[i + 1]

    op = MPI.Op.Create(first, False)
    box = zeros(4)
    world.Allreduce(ints(*[rank] * 4), box, op)
    check(list(box), [0] * 4)
    op.Free()
    op = MPI.Op.Create(joined, False)
    pair = MPI.INT.Create_contiguous(2).Commit()
    box = zeros(2)
    digits = 0
    for i in range(size):
        digits = 10 * digits + i % 3 + 1
    if size < 9:
        world.Allreduce([ints(rank % 3 + 1, 10), 1, pair], [box, 1, pair], op)
        check(box[0], digits)
        world.Reduce([ints(rank % 3 + 1, 10), 1, pair], [box, 1, pair], op, size - 1)
        check(rank < size - 1 or box[0] == digits, True)
    pair.Free()
    op.Free()
    box = zeros(1)
    for op, expected in ((MPI.MIN, 1), (MPI.MAX, size), (MPI.LAND, 1), (MPI.LOR, 1), (MPI.BXOR, None)):
        world.Allreduce(ints(rank + 1), box, op)
        check(expected is None or box[0] == expected, True)
    pair, best = ints(rank * 7 % size, rank), zeros(2)
    world.Allreduce([pair, MPI.TWOINT], [best, MPI.TWOINT], MPI.MAXLOC)
    check(best[0], max(i * 7 % size for i in range(size)))


@part
def communicators():
    twin = world.Dup()
    check(twin.allreduce(1), size)
    later, request = world.Idup()
    request.Wait()
    check(later.allgather(rank), list(range(size)))
    half = world.Split(rank % 2, -rank)
    check(half.allgather(rank), [r for r in reversed(range(size)) if r % 2 == rank % 2])
    node = world.Split_type(MPI.COMM_TYPE_SHARED)
    here = MPI.Get_processor_name()
    check(node.size, world.allgather(here).count(here))
    nobody = world.Split(MPI.UNDEFINED if rank else 0)
    check(nobody == MPI.COMM_NULL, rank > 0)
    group = world.Get_group()
    backwards = group.Incl(list(reversed(range(size))))
    mirror = world.Create(backwards)
    check(mirror.rank, size - 1 - rank)
    check(mirror.bcast(rank, 0), size - 1)
    some = world.Create_group(group.Incl([0])) if rank == 0 else None
    ring = world.Create_cart([size], [True])
    check(ring.Shift(0, 1), ((ring.rank - 1) % size, (ring.rank + 1) % size))
    check(ring.neighbor_allgather(ring.rank), list(ring.Shift(0, 1)))
    box = zeros(2)
    for _ in all_ways(ring, "Neighbor_allgather", ints(ring.rank), box):
        check(list(box), list(ring.Shift(0, 1)))
    around = world.Create_dist_graph_adjacent([left], [right])
    check(around.neighbor_alltoall([rank]), [left])
    box = zeros(1)
    for _ in all_ways(around, "Neighbor_alltoall", ints(rank), box):
        check(box[0], left)
    lines = world.Create_cart(MPI.Compute_dims(size, 2)).Sub([True, False])
    check(lines.allreduce(1), lines.size)
    if size > 1:  # intercommunicators are the host's
        local = world.Split(rank % 2)
        between = local.Create_intercomm(0, world, 1 - rank % 2, 5)
        check(between.allgather(rank), [r for r in range(size) if r % 2 != rank % 2])
        merged = between.Merge(rank % 2)
        check(sorted(merged.allgather(rank)), list(range(size)))
        for c in (merged, between, local):
            c.Free()
    for c in (twin, later, half, node, mirror, ring, around, lines) + ((some,) if some else ()):
        c.Free()
    check(MPI.Comm.Compare(world, world), MPI.IDENT)


@part
def one_sided():
    memory = zeros(size)
    window = MPI.Win.Create(memory, 4, comm=world)
    window.Fence()
    window.Put(ints(rank + 1), right, rank)
    window.Fence()
    check(memory[left], left + 1)
    world.Barrier()
    # One rank waits in a receive while the other works on its window.
    if rank == 0 and size > 1:
        check(world.recv(source=1, tag=40), "done")
        check(memory[size - 1], 77)
    elif rank == 1:
        window.Lock(0)
        window.Put(ints(77), 0, size - 1)
        window.Unlock(0)
        world.send("done", 0, 40)
    window.Fence()
    total = zeros(1)
    window.Lock(0)
    window.Fetch_and_op(ints(1), total, 0, 0, MPI.SUM)
    window.Unlock(0)
    world.Barrier()
    window.Free()


@part
def errors():
    world.Set_errhandler(MPI.ERRORS_RETURN)
    for broken in (lambda: world.Send(ints(1), size), lambda: world.Send(ints(1), 0, -5), lambda: world.Bcast(ints(1), size)):
        try:
            broken()
            check("no exception", "an exception")
        except MPI.Exception as e:
            check(e.Get_error_class() in (MPI.ERR_RANK, MPI.ERR_TAG, MPI.ERR_ROOT), True)
    world.Isend(ints(*range(10)), right, 50)
    try:
        world.Recv(zeros(2), left, 50)
        check("no exception", "an exception")
    except MPI.Exception as e:
        check(e.Get_error_class(), MPI.ERR_TRUNCATE)
    world.Set_errhandler(MPI.ERRORS_ARE_FATAL)


@part
def threads():
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return
    faults = []

    def work(i, comm):
        try:
            for k in range(30):
                got = comm.sendrecv((rank, i, k), right, i, source=left, recvtag=i)
                if got != (left, i, k):
                    faults.append(got)
                n = 20000 if k % 10 == 0 else 10
                box = zeros(n)
                comm.Sendrecv(ints(*[k] * n), right, i, box, left, i)
                if box[n - 1] != k:
                    faults.append((i, k))
                if comm.allreduce(k) != size * k:
                    faults.append("sum")
        except BaseException as e:
            faults.append(e)

    comms = [world.Dup() for _ in range(4)]
    for c in comms:
        c.allreduce(0)  # mpi4py makes a duplicate of its own, with Python's lock held
    workers = [threading.Thread(target=work, args=(i, c)) for i, c in enumerate(comms)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    check(faults, [])
    for c in comms:
        c.Free()


if rank == 0:
    print("done", flush=True)
