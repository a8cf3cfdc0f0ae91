"""A Bugsink in a directory of its own, on loopback.

receiver.py serve DIRECTORY: makes its databases and a project, prints port and key, and serves in this process until it is
killed. receiver.py read DIRECTORY: prints its issues as JSON, read from its database by sqlite3.
"""

import json
import os
import sqlite3
import sys

directory = sys.argv[2]
configuration = """
from bugsink.settings.default import *
SECRET_KEY = "of the test: {0}"
DATABASES["default"]["NAME"] = "{0}/db.sqlite3"
DATABASES["snappea"]["NAME"] = "{0}/snappea.sqlite3"
SNAPPEA = {{"TASK_ALWAYS_EAGER": True}}
ALLOWED_HOSTS = ["*"]
BUGSINK = {{
    "BASE_URL": "http://127.0.0.1", "SINGLE_USER": True, "SINGLE_TEAM": True, "FEATURE_MINIDUMPS": True,
    "INGEST_STORE_BASE_DIR": "{0}/ingest",
}}
"""


def serve():
    with open(directory + "/bugsink_conf.py", "w", encoding="utf-8") as file:
        file.write(configuration.format(directory))
    sys.path.insert(0, directory)
    os.environ["DJANGO_SETTINGS_MODULE"] = "bugsink_conf"
    os.chdir(directory)
    answers = os.dup(1)
    os.dup2(2, 1)
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("migrate", database="snappea", verbosity=0)
    from projects.models import Project

    project = Project.objects.create(name="project", slug="project")
    from wsgiref.simple_server import make_server

    from django.core.wsgi import get_wsgi_application

    server = make_server("127.0.0.1", 0, get_wsgi_application())
    os.write(answers, f"{server.server_port} {project.sentry_key.hex} {project.id}\n".encode())
    server.serve_forever()


def read():
    database = sqlite3.connect(f"file:{directory}/db.sqlite3?mode=ro", uri=True)
    database.row_factory = sqlite3.Row
    issues = []
    for issue in database.execute("select * from issues_issue order by digest_order"):
        events = []
        for event in database.execute(
            "select * from events_event where issue_id = ? order by digest_order", [issue["id"]]
        ):
            tags = database.execute(
                "select k.key, v.value from events_event e join tags_eventtag t on t.event_id = e.id"
                " join tags_tagvalue v on v.id = t.value_id join tags_tagkey k on k.id = v.key_id where e.id = ?",
                [event["id"]],
            )
            data = json.loads(event["data"])
            values = data.get("exception") or {}
            values = values.get("values", []) if isinstance(values, dict) else values
            frames = (values[-1].get("stacktrace") or {}).get("frames", []) if values else []
            crumbs = data.get("breadcrumbs") or {}
            crumbs = crumbs.get("values", []) if isinstance(crumbs, dict) else crumbs
            events.append({
                "id": event["event_id"].replace("-", ""),
                "level": event["level"],
                "release": event["release"],
                "tags": {row["key"]: row["value"] for row in tags},
                "frames": [
                    {"function": f.get("function") or "", "file": f.get("filename") or "", "line": f.get("lineno") or 0}
                    for f in frames
                ],
                "breadcrumbs": [crumb["message"] for crumb in crumbs],
                "crashTime": (data.get("contexts") or {}).get("clock", {}).get("crash_time"),
            })
        issues.append({
            "title": issue["calculated_type"] + ": " + issue["calculated_value"],
            "function": issue["last_frame_function"],
            "events": events,
        })
    print(json.dumps(issues))


{"serve": serve, "read": read}[sys.argv[1]]()
