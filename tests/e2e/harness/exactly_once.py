"""The configuration of a relay that sends nothing twice."""


def once(topics, **delivery):
    """The sections for delivery.guarantee: exactly_once, with a checkpoint
    topic of its own. `delivery` adds keys to the section of that name.

        walpost(database, kafka, topics, **once(topics, transaction_idle="1s"))

    The checkpoint topic's name does not begin with `topics`: whoever reads the
    topics of the test does not find checkpoints among the records.
    """
    return {"delivery": {"guarantee": "exactly_once", **delivery},
            "checkpoint": {"topic": f"checkpoints-{topics}"}}
