"""The sinks beside Kafka, with what people use for them today."""
