"""docker/compose.yaml, as far as it can be judged without a container engine."""

import re
import shlex

_GRACE_AFTER_TIMEOUT = 3  # seconds; docs/configuration.md
_SECONDS = {"ms": 0.001, "s": 1, "m": 60}


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", text).groups()
    return int(number) * _SECONDS[unit]


def _words(conninfo):
    return dict(word.split("=", 1) for word in shlex.split(conninfo))


def _split(volume):
    """Source and target."""
    return volume.split(":")[:2]


class Compose:
    """What is wrong with a compose file: faults(), in words.

    `content` is the parsed file, `directory` the folder that it lies in,
    `config` what `walpost run --print-config` says of the configuration file
    that it mounts, parsed, and `config_text` that file.
    """

    def __init__(self, content, directory, config, config_text):
        self._content = content
        self._services = content["services"]
        self._directory = directory
        self._config = config
        self._config_text = config_text

    def faults(self):
        found = []
        for name, service in self._services.items():
            for fault in (*self._of_image(service), *self._of_volumes(service),
                          *self._of_dependencies(service),
                          *self._of_command(service)):
                found.append(f"{name}: {fault}")
        return [*found, *self._of_unused_volumes(), *self._of_postgres(),
                *self._of_listeners(), *self._of_walpost()]

    # ---- Each service.

    def _of_image(self, service):
        build = service.get("build")
        if build is not None:
            context = self._directory / build["context"]
            dockerfile = context / build["dockerfile"]
            if not dockerfile.is_file():
                yield f"there is no {dockerfile}"
            else:
                yield from _missing_sources(dockerfile, context)
        elif "image" not in service:
            yield "has neither image nor build"
        elif service["image"] not in self._built() and not re.fullmatch(
                r"[\w./-]+:\d[\w.-]*", service["image"]):
            yield f"image {service['image']} is not built here and has no version"

    def _built(self):
        return {service.get("image") for service in self._services.values()
                if "build" in service}

    def _of_volumes(self, service):
        for volume in service.get("volumes", []):
            source, _ = _split(volume)
            if source.startswith((".", "/")):
                if not (self._directory / source).is_file():
                    yield f"mounts {source}, which is not a file"
            elif source not in self._content["volumes"]:
                yield f"volume {source} is not declared"

    def _of_dependencies(self, service):
        for name, wanted in service.get("depends_on", {}).items():
            other = self._services.get(name)
            if other is None:
                yield f"depends on {name}, which is not a service"
            elif (wanted["condition"] == "service_healthy"
                  and "test" not in other.get("healthcheck", {})):
                yield f"waits for {name} to be healthy, which tests nothing"
            elif (wanted["condition"] == "service_completed_successfully"
                  and other.get("restart") != "no"):
                yield f"waits for the end of {name}, which is restarted"

    def _of_command(self, service):
        targets = [_split(volume)[1] for volume in service.get("volumes", [])]
        for word in service.get("command", []):
            file = re.fullmatch(r"(?:--file=)?(/\S+)", word)
            if file and file[1] not in targets:
                yield f"command has {file[1]}, which is not mounted"
            host = re.fullmatch(r"--host=(\S+)", word)
            if host and host[1] not in self._services:
                yield f"command has host {host[1]}, which is not a service"
            conninfo = re.fullmatch(r"(host=.*)", word)
            if conninfo:
                yield from self._of_conninfo(_words(conninfo[1]))

    # ---- Between them.

    def _of_unused_volumes(self):
        used = {_split(volume)[0] for service in self._services.values()
                for volume in service.get("volumes", [])}
        for name in self._content["volumes"]:
            if name not in used:
                yield f"volume {name} is not mounted"

    def _of_conninfo(self, words):
        server = self._services.get(words["host"])
        if server is None:
            yield f"host={words['host']} is not a service"
            return
        environment = server["environment"]
        if words["dbname"] != environment["POSTGRES_DB"]:
            yield f"dbname={words['dbname']} is not POSTGRES_DB"
        if words["user"] == "postgres" and (
                words["password"] != environment["POSTGRES_PASSWORD"]):
            yield "the password of postgres is not POSTGRES_PASSWORD"
        if words.get("port", "5432") not in _container_ports(server):
            yield f"no port of {words['host']} is {words.get('port', '5432')}"

    def _of_postgres(self):
        server = self._services["postgres"]
        if "wal_level=logical" not in server["command"]:
            yield "postgres: wal_level is not logical"
        for service in self._services.values():
            password = service.get("environment", {}).get("PGPASSWORD")
            if password not in (None, server["environment"]["POSTGRES_PASSWORD"]):
                yield "PGPASSWORD is not POSTGRES_PASSWORD"

    def _of_listeners(self):
        environment = self._services["kafka"]["environment"]
        listeners = _listeners(environment["KAFKA_LISTENERS"])
        advertised = _listeners(environment["KAFKA_ADVERTISED_LISTENERS"])
        protocols = dict(entry.split(":") for entry in environment[
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
        controllers = environment["KAFKA_CONTROLLER_LISTENER_NAMES"].split(",")
        if set(protocols) != set(listeners):
            yield "kafka: the protocols are not those of the listeners"
        if set(advertised) != set(listeners) - set(controllers):
            yield "kafka: not each listener of clients is advertised"
        for name, (_, port) in advertised.items():
            if port != listeners.get(name, ("", port))[1]:
                yield f"kafka: {name} is advertised with port {port}"
        for name in (*controllers,
                     environment["KAFKA_INTER_BROKER_LISTENER_NAME"]):
            if name not in listeners:
                yield f"kafka: there is no listener {name}"
        quorum = environment["KAFKA_CONTROLLER_QUORUM_VOTERS"]
        node, _, address = quorum.partition("@")
        host, _, port = address.partition(":")
        if (node != environment["KAFKA_NODE_ID"] or host not in self._services
                or port != listeners[controllers[0]][1]):
            yield f"kafka: {quorum} is not its controller"
        for published in self._services["kafka"]["ports"]:
            address, _, port = published.rpartition(":")
            if tuple(address.rsplit(":", 1)) not in advertised.values() or (
                    port not in [port for _, port in listeners.values()]):
                yield f"kafka: nobody is told to go to {published}"
        brokers = tuple(self._config["kafka"]["brokers"].split(":"))
        if brokers not in advertised.values() or (
                brokers[0] not in self._services):
            yield f"kafka.brokers {':'.join(brokers)} is not advertised"

    def _of_walpost(self):
        yield from self._of_conninfo(_words(
            self._config["postgres"]["conninfo"]))
        service = self._services["walpost"]
        port = self._config["http"]["listen"].rpartition(":")[2]
        if port not in _container_ports(service):
            yield f"walpost: port {port} of http.listen is not published"
        timeout = seconds(self._config["delivery"]["shutdown_timeout"])
        grace = seconds(service.get("stop_grace_period", "10s"))
        if grace <= timeout + _GRACE_AFTER_TIMEOUT:
            yield f"walpost: stop_grace_period {grace} s is too short"
        yield from self._of_variables()

    def _of_variables(self):
        names = re.findall(r"\$\{env:(\w+)\}", self._config_text)
        for name, service in self._services.items():
            if not any(_split(volume)[0].endswith("/walpost.yaml")
                       for volume in service.get("volumes", [])):
                continue
            if "--admin" in service.get("command", []):
                continue  # init does not read the secrets of run
            for variable in names:
                if not service.get("environment", {}).get(variable):
                    yield f"{name}: {variable} is not set"


def _listeners(text):
    """Name -> (host, port)."""
    return {name: (host, port) for name, host, port in
            re.findall(r"(\w+)://([^:,]*):(\d+)", text)}


def _container_ports(service):
    return [port.rpartition(":")[2] for port in service.get("ports", [])]


def _missing_sources(dockerfile, context):
    """Of COPY, those that are not from another stage."""
    for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile.read_text(),
                           re.M):
        for source in line.split()[:-1]:
            if not (context / source).exists():
                yield f"{dockerfile.name} copies {source}, which does not exist"
