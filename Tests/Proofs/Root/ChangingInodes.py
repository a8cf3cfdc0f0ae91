"""A file system in memory that gives a file another inode number in each answer, as some pass-through servers do.

ChangingInodes.py DIRECTORY COMMAND... mounts it on DIRECTORY in a mount namespace of its own, runs the command and exits
with its status. It speaks the FUSE protocol on /dev/fuse and needs root. Source: fuse(4), Linux
include/uapi/linux/fuse.h.
"""
import ctypes, errno, itertools, os, stat, struct, subprocess, sys, threading

libc = ctypes.CDLL(None, use_errno=True)
numbers, nodes = itertools.count(1000), {}


class Node:
    def __init__(self, mode, user=0, group=0):
        self.mode, self.user, self.group = mode, user, group
        self.data, self.entries, self.links = bytearray(), {}, 1
        self.id = next(identifiers)
        nodes[self.id] = self


identifiers = itertools.count(1)
Node(stat.S_IFDIR | 0o755)


def attributes(node):
    size = len(node.data)
    return struct.pack("<6Q10I", next(numbers), size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, node.mode, node.links,
                       node.user, node.group, 0, 4096, 0)


def entry(node):
    return struct.pack("<4Q2I", node.id, 0, 0, 0, 0, 0) + attributes(node)


def answered(node):
    return struct.pack("<Q2I", 0, 0, 0) + attributes(node)


def text(body):
    return body.split(b"\0")[0]


def resize(node, size):
    node.data = node.data[:size] + bytes(max(size - len(node.data), 0))


def made(parent, name, mode, header):
    if name in parent.entries: raise OSError(errno.EEXIST, "")
    parent.entries[name] = node = Node(mode, header[4], header[5])
    return node


def removed(parent, name):
    if name not in parent.entries: raise OSError(errno.ENOENT, "")
    node = parent.entries.pop(name)
    node.links -= 1
    return node


def answer(header, body):
    """The body of the answer; None for no answer."""
    code, node = header[1], nodes.get(header[3])
    if code == 26:  # INIT
        return struct.pack("<4I2H2I2H2I", 7, 31, 65536, 0, 12, 9, 65536, 1, 0, 0, 0, 0) + bytes(24)
    if code in (2, 36, 42): return None  # FORGET, INTERRUPT, BATCH_FORGET
    if code in (18, 20, 25, 29, 30, 34, 38): return b""  # RELEASE, FSYNC, FLUSH, ...DIR, ACCESS, DESTROY
    if code == 1:  # LOOKUP
        found = node.entries.get(text(body))
        if found is None: raise OSError(errno.ENOENT, "")
        return entry(found)
    if code == 3: return answered(node)  # GETATTR
    if code == 4:  # SETATTR
        valid, _, _, size = struct.unpack_from("<2I2Q", body)
        mode, _, user, group = struct.unpack_from("<4I", body, 68)
        if valid & 1: node.mode = mode
        if valid & 2: node.user = user
        if valid & 4: node.group = group
        if valid & 8: resize(node, size)
        return answered(node)
    if code == 8: return entry(made(node, text(body[16:]), struct.unpack_from("<I", body)[0], header))  # MKNOD
    if code == 9:  # MKDIR
        return entry(made(node, text(body[8:]), stat.S_IFDIR | struct.unpack_from("<I", body)[0], header))
    if code in (10, 11): removed(node, text(body)); return b""  # UNLINK, RMDIR
    if code in (12, 45):  # RENAME, RENAME2
        target = nodes[struct.unpack_from("<Q", body)[0]]
        old, new = body[8 if code == 12 else 16:].split(b"\0")[:2]
        moved = removed(node, old)
        if new in target.entries: removed(target, new)
        target.entries[new] = moved
        moved.links += 1
        return b""
    if code == 13:  # LINK
        linked = nodes[struct.unpack_from("<Q", body)[0]]
        node.entries[text(body[8:])] = linked
        linked.links += 1
        return entry(linked)
    if code in (14, 27): return struct.pack("<Q2I", 0, 0, 0)  # OPEN, OPENDIR
    if code == 15:  # READ
        _, offset, size = struct.unpack_from("<2QI", body)
        return bytes(node.data[offset:offset + size])
    if code == 16:  # WRITE
        _, offset, size = struct.unpack_from("<2QI", body)
        resize(node, max(len(node.data), offset + size))
        node.data[offset:offset + size] = body[40:40 + size]
        return struct.pack("<2I", size, 0)
    if code == 17:  # STATFS
        return struct.pack("<5Q4I", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0) + bytes(24)
    if code == 28:  # READDIR
        _, offset, size = struct.unpack_from("<2QI", body)
        out = b""
        for index, (name, found) in enumerate(list(node.entries.items())):
            record = struct.pack("<2Q2I", next(numbers), index + 1, len(name), stat.S_IFMT(found.mode) >> 12) + name
            record += bytes(-len(record) % 8)
            if index < offset: continue
            if len(out) + len(record) > size: break
            out += record
        return out
    if code == 35:  # CREATE
        created = made(node, text(body[16:]), stat.S_IFREG | struct.unpack_from("<2I", body)[1] & 0o7777, header)
        return entry(created) + struct.pack("<Q2I", 0, 0, 0)
    if code == 43:  # FALLOCATE
        _, offset, length, mode = struct.unpack_from("<3QI", body)
        if mode & 1 == 0: resize(node, max(len(node.data), offset + length))
        return b""
    raise OSError(errno.ENOSYS, "")


def serve(device):
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT): continue
            return
        header = struct.unpack_from("<2I2Q4I", request)
        try:
            body, number = answer(header, request[40:]), 0
        except OSError as error:
            body, number = b"", -error.errno
        if body is None: continue
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(body), number, header[2]) + body)
        except OSError:
            pass  # The request was interrupted.


def mount(source, target, kind, flags, options):
    if libc.mount(source, os.fsencode(target), kind, flags, options) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")


directory, command = sys.argv[1], sys.argv[2:]
if libc.unshare(0x20000) != 0: sys.exit("unshare")  # CLONE_NEWNS
mount(b"none", "/", None, 0x44000, None)  # MS_REC | MS_PRIVATE
device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
mount(b"changing", directory, b"fuse", 0, options.encode())
threading.Thread(target=serve, args=(device,), daemon=True).start()
status = subprocess.run(command).returncode
libc.umount2(os.fsencode(directory), 2)
os._exit(status if status >= 0 else 128 - status)
