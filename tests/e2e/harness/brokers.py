"""What tests ask of brokers, whoever runs them."""

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from harness.kafka_java import run_tool

_SECONDS = 60


class Brokers:
    """Running brokers at `bootstrap`, which a subclass sets.

    Topics are made without a JVM: its start takes longer than most tests wait.
    """

    bootstrap = ""

    def create_topic(self, name, partitions=None, **config):
        """Creates a topic by hand; settings like max_message_bytes=1000."""
        create_topic(self.bootstrap, name, partitions, **config)

    def delete_topic(self, name):
        self.delete_topics([name])

    def delete_topics(self, names):
        _ask(self.bootstrap, "delete_topics", list(names))

    def set_topic_config(self, topic, name, value):
        """The topic's only setting."""
        setting = ConfigResource(ConfigResource.Type.TOPIC, topic,
                                 set_config={name: value})
        _ask(self.bootstrap, "alter_configs", [setting])

    def describe_topic(self, name):
        """What kafka-topics.sh says about it."""
        return run_tool(self.bootstrap, "TopicCommand", "--describe",
                        "--topic", name)


def create_topic(bootstrap, name, partitions, on=None, **config):
    """`on="1,2"`: one partition on the first node, another on the second."""
    config = {key.replace("_", "."): str(value)
              for key, value in config.items()}
    if on is None:
        # -1: as many replicas as the brokers make by default.
        topic = NewTopic(name, partitions, replication_factor=-1, config=config)
    else:
        places = [[int(node)] for node in on.split(",")]
        topic = NewTopic(name, len(places), replica_assignment=places,
                         config=config)
    _ask(bootstrap, "create_topics", [topic])


def _ask(bootstrap, call, things):
    """Fails as the first of the answers that is an error."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    answers = getattr(admin, call)(things, request_timeout=_SECONDS)
    for answer in answers.values():
        answer.result()
