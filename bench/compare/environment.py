"""What it ran on, for the report."""

import os
import pathlib
import platform
import re
import subprocess

from harness.paths import walpost_binary

from compare import debezium
from compare.stage import BROKER_JVM, POSTGRES_SETTINGS, REPOSITORY
from pgbench import postgres_program


def describe():
    cpu = re.search(r"model name\s*: (.*)",
                    pathlib.Path("/proc/cpuinfo").read_text())
    memory = re.search(r"MemTotal:\s+(\d+)",
                       pathlib.Path("/proc/meminfo").read_text())
    load = pathlib.Path("/proc/loadavg").read_text().split()[0]
    return {
        "machine": f"{os.cpu_count()} × "
                   f"{cpu[1] if cpu else platform.machine()}, "
                   f"{int(memory[1]) >> 20} GB, Linux {platform.release()}",
        "load_before": float(load),
        "walpost": _first_line(walpost_binary(), "version"),
        "postgres": _first_line(postgres_program("postgres"), "--version"),
        "postgres_settings": _listed(POSTGRES_SETTINGS),
        "kafka": _version_in("fetch-kafka", "kafka_version"),
        "broker_jvm": " ".join(BROKER_JVM),
        "debezium": _version_in("fetch-debezium", "debezium_version"),
        "debezium_tuned": _listed(debezium.TUNED.worker
                                  | debezium.TUNED.connector),
        "debezium_tuned_jvm": " ".join(debezium.TUNED.jvm),
        "debezium_small_jvm": " ".join(debezium.SMALL.jvm),
        "debezium_defaults_jvm": " ".join(debezium.DEFAULTS.jvm),
        "java": _first_line("java", "--version"),
    }


def _listed(settings):
    return ", ".join(f"`{name}={value}`" for name, value in settings.items())


def _first_line(*command):
    ran = subprocess.run([str(word) for word in command], check=True,
                         capture_output=True, text=True)
    return ran.stdout.strip().splitlines()[0]


def _version_in(script, name):
    text = (REPOSITORY / "scripts" / script).read_text()
    return re.search(rf"readonly {name}=(\S+)", text)[1]
