"""Requests to `postmortem collect` by a client that shares no code with it.

CollectorClient.py PORT MINIDUMP: sends well and badly made requests, and fails at the first answer that
is not as it should be.
"""

import http.client
import socket
import sys

port = int(sys.argv[1])
minidump = open(sys.argv[2], "rb").read()
secret = {"Authorization": "Bearer of-the-tests"}


def form(identity, files=(), dump=minidump):
    boundary = b"=boundary="
    body = b""
    for name, value in (("report_id", identity), ("prod", "a test")):
        body += b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (
            boundary, name.encode(), value.encode())
    for name, file_name, content in [*files, ("upload_file_minidump", "../../x.dmp", dump)]:
        body += (
            b'--%s\r\nContent-Disposition: form-data; filename="%s"; name="%s"\r\n'
            b"Content-Type: application/octet-stream\r\n\r\n%s\r\n"
        ) % (boundary, file_name.encode(), name.encode(), content)
    body += b"--%s--\r\n" % boundary
    return body, {"Content-Type": 'multipart/form-data; boundary="=boundary="'}


def ask(method="POST", body=b"", headers=None, expected=200, chunked=False):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    content = iter([body[i:i + 7000] for i in range(0, len(body), 7000)]) if chunked else body
    connection.request(
        method, "/../../etc/passwd?x", content, {**secret, **(headers or {})}, encode_chunked=chunked)
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == expected, (answer.status, expected, text)
    return text


def raw(data, expected):
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := s.recv(65536):
            answer += piece
    start = answer.split(b"\r\n")[0]
    assert start.startswith(expected), (data[:80], start, expected)


first = "11111111-2222-4333-8444-555555555555"
body, headers = form(first, [("log", "/etc/../log.txt", b"a log\r\n--"), ("log", "log.txt", b"2")])
assert ask(body=body, headers=headers) == first + "\n"
assert ask(body=body, headers=headers) == first + "\n", "the same again is the same"
second = "11111111-2222-4333-8444-666666666666"
body, headers = form(second)
assert ask(body=body, headers={**headers, "Transfer-Encoding": "chunked"}, chunked=True) == second + "\n"
body, headers = form("../../../x")
assert len(ask(body=body, headers=headers)) == 37, "an ID of the collector's own, or the minidump's"

assert "small collector" in ask("GET")
ask("PUT", expected=405)
ask(body=b"x", headers={"Authorization": "Bearer of-the-testt"}, expected=401)
ask(body=b"x", headers={"Content-Type": "text/plain"}, expected=415)
ask(body=body, headers={**headers, "Content-Encoding": "gzip"}, expected=415)
ask(body=body[:-4], headers=headers, expected=400)
ask(body=form(second, dump=b"no minidump")[0], headers=headers, expected=400)
ask(body=form(second, [("f", f"f{i}", b"") for i in range(70)])[0], headers=headers, expected=413)

line = b"POST / HTTP/1.1\r\nAuthorization: Bearer of-the-tests\r\n"
typed = line + b"Content-Type: multipart/form-data; boundary=B\r\n"
raw(typed + b"Content-Length: 3000000\r\n\r\n", b"HTTP/1.1 413")
raw(typed + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n", b"HTTP/1.1 100")
raw(typed + b"Content-Length: 100\r\n\r\nshort", b"HTTP/1.1 400")
raw(typed + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", b"HTTP/1.1 400")
raw(typed + b"Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n", b"HTTP/1.1 413")
raw(typed + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n", b"HTTP/1.1 400")
raw(line + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", b"HTTP/1.1 400")
raw(b"A" * 100000, b"HTTP/1.1 431")
raw(bytes(range(256)) + b"\r\n\r\n", b"HTTP/1.1 400")
raw(b"", b"")
# The quota of 3 MiB: one large report fits, a second does not.
for last, status in (("7", 200), ("8", 507)):
    body, headers = form(first[:-1] + last, [("big", "big", b"x" * 1_800_000)])
    answer = ask(body=body, headers=headers, expected=status)
assert "quota" in answer
print("all as it should be")
