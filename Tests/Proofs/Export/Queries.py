# Runs statements with DuckDB or chdb in the directory of crashes.ndjson, and prints a JSON object with the rows of each
# question, by its name, and the total seconds; or parses lines of OTLP.
#
#   python3 Queries.py duckdb|chdb STATEMENTS.json
#   python3 Queries.py otlp FILE
import json
import sys
import time


def plain(value):
    if hasattr(value, 'isoformat'):
        return value.replace(tzinfo=None).isoformat(' ')
    return value


def duckdb_rows():
    import duckdb
    connection = duckdb.connect()

    def run(text):
        rows = connection.execute(text).fetchall()
        return [[plain(value) for value in row] for row in rows]
    return run


def chdb_rows():
    import tempfile
    from chdb import session
    place = session.Session(tempfile.mkdtemp(dir='.'))

    def run(text):
        out = str(place.query(text.strip().rstrip(';'), 'JSONCompact'))
        return json.loads(out)['data'] if out.strip() else []
    return run


def otlp(path):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    records = []
    for line in open(path, encoding='utf-8'):
        # Parse fails for unknown fields.
        request = json_format.Parse(line, ExportLogsServiceRequest())
        for resource in request.resource_logs:
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    def value(v):
                        return getattr(v, v.WhichOneof('value'))
                    records.append({
                        'time': record.time_unix_nano, 'severity': record.severity_number,
                        'body': record.body.string_value,
                        'resource': {a.key: value(a.value) for a in resource.resource.attributes},
                        'attributes': {a.key: value(a.value) for a in record.attributes}})
    return records


if sys.argv[1] == 'otlp':
    print(json.dumps(otlp(sys.argv[2])))
else:
    run = {'duckdb': duckdb_rows, 'chdb': chdb_rows}[sys.argv[1]]()
    answers, seconds = {}, {}
    for statement in json.load(open(sys.argv[2])):
        begin = time.monotonic()
        rows = run(statement['text'])
        seconds[statement.get('name', 'load')] = round(time.monotonic() - begin, 3)
        if 'name' in statement:
            answers[statement['name']] = rows
    print(json.dumps({'answers': answers, 'seconds': seconds}))
