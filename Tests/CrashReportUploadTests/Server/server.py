"""An HTTP server for the tests, which shares no code with what it tests.

server.py RECORD [CERTIFICATE KEY]: listens on a free port of 127.0.0.1, prints it, and appends to the
file RECORD a JSON object for each form that arrived whole. The path says what goes wrong:

/ok           nothing                       /status/N     N is answered, without reading more first
/once/FAULT   FAULT once for each report    /reset        the connection is reset in the middle
/drop         it ends before the answer     /garbage      the answer is no HTTP
/redirect     302 to /ok                    /hang         no answer until the client goes
/flood/N      200 and N MiB, of which the record says how many were taken
/headers      200 and headers without end
/stall        nothing is answered
/drip         an answer of a byte each 100 ms, without an end
/endless      200 and a body without an end /retry/N/S    N is answered, with Retry-After: S
/answer/NAME  one of ANSWERS, with a gzip in front of NAME compressed
/limit/N[/S]  413 where the body has more than N bytes, with Retry-After: S
Fields and files are read by Python's own parser of MIME; envelopes of Sentry by their items' lengths.
"""

import email.parser
import email.policy
import gzip
import hashlib
import http.server
import json
import socket
import ssl
import struct
import sys
import threading
import time

# The status, type and body of each answer, by name.
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in to Wi-Fi</title></head><body>Accept</body></html>"
ANSWERS = {
    "page": (200, "text/html", PAGE),
    "page-203": (203, "text/html", PAGE),
    "page-400": (400, "text/html; charset=utf-8", PAGE),
    "bad-request": (400, "text/plain", b"Bad Request"),
    "refused-400": (400, "application/json", b'{"error": "a report of the test"}'),
    "refused-422": (422, "application/json", b'{"detail": "a report of the test"}'),
    "ingress-404": (404, "text/plain", b"default backend - 404"),
    "envoy-403": (403, "text/plain", b"RBAC: access denied"),
    "gateway-401": (401, "application/json", b'{"message": "Unauthorized"}'),
    "page-405": (405, "text/html", PAGE),
    "relay-403": (403, "application/json", b'{"detail": "bad key"}'),
    "gone": (410, "text/plain", b""),
    "page-plain": (200, "text/plain", b"\xef\xbb\xbf \r\n<!-- portal -->" + PAGE),
    "sentence": (200, "text/plain", b"Please log in"),
    "error": (200, "application/json", b'{"error": "quota exceeded"}'),
    "false": (200, "application/json", b'{"success": false, "id": "request-1"}'),
    "array": (200, "application/json", b"[]"),
    "partial": (206, "text/plain", b"of-the-test"),
    "id": (200, "text/html", b"of-the-test"),
    "json": (200, "application/json", b'{"id": "of-the-test"}'),
    "backtrace": (200, "application/json", b'{"response": "ok", "_rxid": "of-the-test"}'),
    "empty": (200, "text/plain", b""),
    "no-content": (204, "text/plain", b""),
}

record_path = sys.argv[1]
seen = set()
lock = threading.Lock()


def parsed_envelope(headers, body):
    """An envelope as a form: tags are fields, attachments are files."""
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    line, rest = body.split(b"\n", 1)
    form = {"fields": {}, "files": {}, "order": [], "defects": [], "header": json.loads(line), "items": []}
    while rest:
        line, rest = rest.split(b"\n", 1)
        item = json.loads(line)
        content, rest = rest[: item["length"]], rest[item["length"]:]
        if len(content) != item["length"] or rest[:1] != b"\n":
            form["defects"].append("an item of another length than it says")
        rest = rest[1:]
        form["items"].append(item)
        form["order"].append(item["type"])
        if item["type"] == "event":
            form["event"] = json.loads(content)
            form["fields"] = form["event"]["tags"]
            continue
        name = "upload_file_minidump" if item["filename"].endswith(".dmp") else item["filename"]
        form["files"][name] = {
            "name": item["filename"],
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    return form


def parsed(headers, body):
    if headers["Content-Type"] == "application/x-sentry-envelope":
        return parsed_envelope(headers, body)
    head = b"Content-Type: " + headers["Content-Type"].encode("latin-1") + b"\r\n\r\n"
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    form = {"fields": {}, "files": {}, "order": [], "defects": [str(d) for d in message.defects]}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        form["order"].append(name)
        form["defects"] += [str(d) for d in part.defects]
        if part.get_filename() is None:
            form["fields"][name] = content.decode("utf-8")
        else:
            form["files"][name] = {
                "name": part.get_filename(),
                "size": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
            }
    return form


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def do_POST(self):
        # A client of a proxy requests a whole URL.
        path = self.path.split("://", 1)[-1]
        path = path[path.index("/"):] if "://" in self.path else path
        words = path.strip("/").split("/")
        length = int(self.headers["Content-Length"])
        if words[0] == "limit" and length > int(words[1]):
            with lock, open(record_path + ".refused", "a", encoding="utf-8") as record:
                record.write(f"{length}\n")
            self.rfile.read(length)
            return self.answer(
                413, b"<html><title>413 Request Entity Too Large</title></html>",
                **({"Retry_After": words[2]} if len(words) > 2 and words[2].isdigit() else {}))
        if words[0] == "reset":
            return self.reset(length // 2)
        if words[0] == "stall":
            # Reads until the client disconnects, and never answers.
            while self.connection.recv(65536):
                pass
            self.close_connection = True
            return
        if words[0] == "status":
            return self.answer(int(words[1]), b"status of the test\nsecond line")
        body = b""
        if words[0] == "slow":
            # The body must be larger than the socket buffers, so that the client has to wait.
            while len(body) < length:
                time.sleep(0.05)
                piece = self.rfile.read(min(length - len(body), 1 << 20))
                if not piece:
                    return
                body += piece
            form = parsed(self.headers, body)
        elif length > 1 << 26:
            # The body is too large to keep; only its arrival matters.
            while length > 0:
                length -= len(self.rfile.read(min(length, 1 << 20)))
            form = {"fields": {}, "files": {}, "order": [], "defects": []}
        else:
            body = self.rfile.read(length)
            if len(body) < length:
                return
            form = parsed(self.headers, body)
        identity = form["fields"].get("report_id")
        form["path"] = self.path
        form["headers"] = dict(self.headers)
        with lock:
            first = identity not in seen
            seen.add(identity)
            with open(record_path, "a", encoding="utf-8") as record:
                record.write(json.dumps(form) + "\n")
        if words[0] == "once":
            words = words[1:] if first else ["ok"]
        self.fault(words)

    def fault(self, words):
        kind = words[0]
        if kind == "status":
            self.answer(int(words[1]), b"status of the test")
        elif kind == "retry":
            self.answer(int(words[1]), b"later", Retry_After=words[2])
        elif kind == "answer":
            name = words[1].removeprefix("gzip-")
            status, content_type, body = ANSWERS[name]
            if name == words[1]:
                self.answer(status, body, Content_Type=content_type)
            else:
                self.answer(status, gzip.compress(body), Content_Type=content_type, Content_Encoding="gzip")
        elif kind == "redirect":
            self.answer(302, Location="/ok")
        elif kind == "drop":
            self.close_connection = True
        elif kind == "slow":
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nCrashID=slow":
                self.wfile.write(bytes([byte]))
                time.sleep(0.01)
            self.close_connection = True
        elif kind == "garbage":
            self.wfile.write(bytes(range(256)) * 40)
            self.close_connection = True
        elif kind == "hang":
            self.connection.recv(1)
            self.close_connection = True
        elif kind == "reset":
            self.reset(0)
        elif kind in ("flood", "headers", "drip"):
            sent, piece = 0, {"flood": b"x" * 65536, "headers": b"X-Name: value\r\n" * 64, "drip": b"x"}[kind]
            self.send_response(200)
            if kind == "flood":
                self.send_header("Content-Length", str(int(words[1]) << 20))
            if kind == "headers":
                self.flush_headers()
            else:
                self.end_headers()
            try:
                while kind != "flood" or sent < int(words[1]) << 20:
                    self.wfile.write(piece)
                    sent += len(piece)
                    if kind == "drip":
                        time.sleep(0.1)
            except OSError:
                pass
            self.close_connection = True
            with lock, open(record_path + ".sent", "w", encoding="utf-8") as record:
                record.write(str(sent))
        elif kind == "endless":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                self.close_connection = True
        elif self.headers["Content-Type"] == "application/x-sentry-envelope":
            self.answer(200, b'{"id":"bp-of-the-test"}', Content_Type="application/json")
        else:
            self.answer(200, b"CrashID=bp-of-the-test\n")

    def reset(self, after):
        self.rfile.read(after)
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        # Closes the socket directly: closing the stream would first shut the connection down
        # properly.
        socket.socket(fileno=self.connection.detach()).close()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.handle_error = lambda *arguments: None
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
# The test closes standard input when it ends.
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
