package shop;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.util.UUID;
import org.hibernate.annotations.Immutable;
import org.hibernate.annotations.UuidGenerator;

@Entity
@Immutable
@Table(name = "outbox_avro")
class AvroEvent {
  @Id
  @UuidGenerator(style = UuidGenerator.Style.VERSION_7)
  UUID id;

  @Column(name = "aggregate_type")
  String aggregateType;

  @Column(name = "aggregate_id")
  String aggregateId;

  byte[] payload; // bytea; not @Lob

  protected AvroEvent() {}

  AvroEvent(long orderId, byte[] payload) {
    this.aggregateType = "order";
    this.aggregateId = Long.toString(orderId);
    this.payload = payload;
  }
}
