package shop;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;

/** Stands for the serializer of your registry, which writes the same bytes. */
class Serializer {
  private static final int SCHEMA_ID = 7; // as the registry answered

  private static final Schema SCHEMA = SchemaBuilder.record("OrderPlaced")
      .fields().requiredLong("orderId").requiredString("customer")
      .requiredLong("cents").endRecord();

  static byte[] framed(long orderId, String customer, long cents) {
    GenericRecord placed = new GenericData.Record(SCHEMA);
    placed.put("orderId", orderId);
    placed.put("customer", customer);
    placed.put("cents", cents);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      DataOutputStream frame = new DataOutputStream(bytes);
      frame.writeByte(0);
      frame.writeInt(SCHEMA_ID);
      BinaryEncoder body = EncoderFactory.get().directBinaryEncoder(bytes, null);
      new GenericDatumWriter<GenericRecord>(SCHEMA).write(placed, body);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }
}
