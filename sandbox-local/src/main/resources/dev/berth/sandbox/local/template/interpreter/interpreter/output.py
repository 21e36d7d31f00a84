"""What a kernel says, as the lines that clients read."""

import math
import re

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]")

_FIELDS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}


def line_of(kind, content, date):
    """The line for a message of a kernel, or None when clients are not told."""
    if kind == "stream":
        name = "stderr" if content.get("name") == "stderr" else "stdout"
        return {"type": name, "text": content.get("text", ""), "timestamp": date}
    if kind in ("execute_result", "display_data"):
        return result(content.get("data", {}), kind == "execute_result")
    if kind == "error":
        return error(content.get("ename", ""), content.get("evalue", ""), content.get("traceback", []))
    if kind == "execute_input":
        return {"type": "number_of_executions", "execution_count": content.get("execution_count", 0)}
    return None


def result(data, main):
    line = {"type": "result", "is_main_result": main}
    extra = {}
    for mime, value in data.items():
        if value is None:
            continue
        field = _FIELDS.get(mime)
        if field is None:
            extra[mime] = safe(value)
        elif field in ("json", "data", "chart"):
            line[field] = safe(value)
        else:
            text = "".join(value) if isinstance(value, list) else str(value)
            line[field] = unquoted(text) if field == "text" else text.strip() if field in ("png", "jpeg") else text
    if extra:
        line["extra"] = extra
    return line


def error(name, value, traceback):
    return {
        "type": "error",
        "name": plain(name),
        "value": plain(value),
        "traceback": "\n".join(plain(part) for part in traceback),
    }


def unquoted(text):
    """Takes off one pair of quotes, which the repr of a string has."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def plain(text):
    return _ANSI.sub("", str(text))


def safe(value):
    """The same value without numbers that JSON has no word for."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): safe(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [safe(inner) for inner in value]
    return value
