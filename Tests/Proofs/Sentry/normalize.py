"""Sentry's own schema on the events of envelopes.

Reads lines of `postmortem upload --dry-run --json`, and prints for each a JSON object: "errors", "meta", and in "lost" the
members that Relay dropped or changed. It turns a time into a number, tags into pairs, and the server's name into a tag.
"""

import datetime
import json
import sys

from sentry_relay.processing import StoreNormalizer

normalizer = StoreNormalizer(
    project_id=1, key_id="1", protocol_version="7", remove_other=True, max_secs_in_past=10**9, max_secs_in_future=3600
)


def expected(event):
    event = dict(event)
    if "timestamp" in event:
        time = datetime.datetime.fromisoformat(event["timestamp"].replace("Z", "+00:00"))
        event["timestamp"] = round(time.timestamp(), 6)
    tags = dict(event.get("tags", {}))
    if "server_name" in event:
        tags["server_name"] = event.pop("server_name")
    event["tags"] = tags
    return event


def lost(sent, kept, path=""):
    if path == "/tags" and isinstance(kept, list):
        kept = {pair[0]: pair[1] for pair in kept}
    if path.endswith("/timestamp") and isinstance(sent, str):
        return [] if isinstance(kept, (int, float)) else [path]
    if isinstance(sent, dict):
        if not isinstance(kept, dict):
            return [path]
        return [p for name in sent for p in lost(sent[name], kept.get(name), path + "/" + name)]
    if isinstance(sent, list):
        if not isinstance(kept, list) or len(kept) != len(sent):
            return [path]
        return [p for i, (a, b) in enumerate(zip(sent, kept)) for p in lost(a, b, f"{path}/{i}")]
    return [] if sent == kept else [f"{path}: {str(sent)[:80]} became {str(kept)[:80]}"]


for line in sys.stdin:
    event = expected(json.loads(json.loads(line)["body"].split("\n")[2]))
    given = dict(event, tags=dict(event["tags"]))
    kept = normalizer.normalize_event(given)
    print(json.dumps({
        "errors": [str(error) for error in kept.get("errors") or []],
        "meta": json.dumps(kept.get("_meta")) if kept.get("_meta") else "",
        "lost": lost(event, kept),
        "kind": event["exception"]["values"][-1]["type"],
    }))
