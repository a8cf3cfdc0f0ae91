# Runs a program under a filter that refuses what an older kernel does not have.
#
# OldKernel.py RULE... -- PROGRAM [ARGUMENT...]
#
# A rule is one of:
# - LAST: all later system calls fail with ENOSYS.
# - NUMBER=: this call fails with ENOSYS.
# - NUMBER:ARGUMENT:FIRST:LAST: this call fails with EINVAL if the argument with this index, from 0,
#   is in the range.
#
# Source: seccomp(2).
import ctypes, os, struct, sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ERRNO, ALLOW, ENOSYS, EINVAL = 0x00050000, 0x7FFF0000, 38, 22
LOAD, EQUALS, GREATER, AT_LEAST, RETURN = 0x20, 0x15, 0x25, 0x35, 0x06

end = sys.argv.index("--")
code = []
for rule in sys.argv[1:end]:
    code.append((LOAD, 0, 0, 0))
    if rule.endswith("="):
        code += [(EQUALS, 0, 1, int(rule[:-1])), (RETURN, 0, 0, ERRNO | ENOSYS)]
    elif ":" in rule:
        number, place, first, last = map(int, rule.split(":"))
        code += [
            (EQUALS, 0, 4, number),
            (LOAD, 0, 0, 16 + 8 * place),
            (AT_LEAST, 0, 2, first),
            (GREATER, 1, 0, last),
            (RETURN, 0, 0, ERRNO | EINVAL),
        ]
    else:
        code += [(GREATER, 0, 1, int(rule)), (RETURN, 0, 0, ERRNO | ENOSYS)]
code.append((RETURN, 0, 0, ALLOW))
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program)))
libc = ctypes.CDLL(None)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0):
    sys.exit("no filter")
os.execv(sys.argv[end + 1], sys.argv[end + 1 :])
