"""A server that prefers HTTP/2, and then misbehaves: http2.py FAULT CERTIFICATE KEY.

It prints its port. To a client of HTTP/1.1 it answers each POST with a receipt; of other requests, it appends the
first line to the file `requests`, and answers 404. After a request of HTTP/2 it
rst      resets the stream                    goaway   ends the connection with GOAWAY
silence  answers nothing                      http11   resets the stream with HTTP_1_1_REQUIRED
cut      answers with half of a body, then resets the stream
Source: RFC 9113, 4 (frames), 6.4 (RST_STREAM), 6.8 (GOAWAY), 7 (error codes).
"""

import socket
import ssl
import struct
import sys
import threading
import time

fault = sys.argv[1]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
context.set_alpn_protocols(["h2", "http/1.1"])


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def serve_http2(connection):
    # An empty SETTINGS frame, and the acknowledgment of the client's.
    connection.sendall(frame(4, 0, 0) + frame(4, 1, 0))
    time.sleep(0.3)
    if fault == "goaway":
        connection.sendall(frame(7, 0, 0, struct.pack(">II", 0, 0)))
    elif fault == "rst":
        connection.sendall(frame(3, 0, 1, struct.pack(">I", 2)))
    elif fault == "http11":
        connection.sendall(frame(3, 0, 1, struct.pack(">I", 13)))
    elif fault == "cut":
        # The header ":status: 200" has the index 8 of HPACK's static table.
        connection.sendall(frame(1, 4, 1, b"\x88") + frame(0, 0, 1, b"over") + frame(3, 0, 1, struct.pack(">I", 2)))
    while connection.recv(65536):
        pass


def serve_http1(connection):
    stream = connection.makefile("rb")
    first = stream.readline()
    length = 0
    while (line := stream.readline().strip()):
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)
    if not first.startswith(b"POST "):
        with open("requests", "ab") as requests:
            requests.write(first)
        return connection.sendall(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    stream.read(length)
    body = b"CrashID=over-http-1.1"
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def serve(client):
    try:
        connection = context.wrap_socket(client, server_side=True)
        serve_http2(connection) if connection.selected_alpn_protocol() == "h2" else serve_http1(connection)
        connection.close()
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
