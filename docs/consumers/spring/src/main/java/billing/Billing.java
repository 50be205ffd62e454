package billing;

import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.util.backoff.FixedBackOff;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * Writes an invoice for each order, in PostgreSQL, with Spring Kafka. Its effects
 * happen once, though records may come twice.
 *
 * <p>--group=GROUP --topic=TOPIC --spring.kafka.bootstrap-servers=BROKERS
 *
 * <p>PGHOST, PGPORT, PGDATABASE and PGUSER say where its database is. The
 * database needs sql/processed_events.sql and docs/consumers/schema.sql.
 */
@SpringBootApplication
public class Billing {
  public static void main(String[] words) {
    SpringApplication.run(Billing.class, words);
  }

  // begin: errors
  /** Without this bean, a record that has failed ten times is skipped. */
  @Bean
  DefaultErrorHandler tryAgain() {
    return new DefaultErrorHandler(
        new FixedBackOff(1000, FixedBackOff.UNLIMITED_ATTEMPTS));
  }
  // end: errors

  // begin: listener
  @Component
  static class Listener {
    private final JdbcClient database;
    private final ObjectMapper json;

    Listener(JdbcClient database, ObjectMapper json) {
      this.database = database;
      this.json = json;
    }

    @Transactional // of the database: claim and effect
    @KafkaListener(id = "${group}", topics = "${topic}")
    public void on(ConsumerRecord<String, byte[]> record) {
      String id = new String(record.headers().lastHeader("id").value(),
          StandardCharsets.UTF_8);
      boolean isFirst = database.sql("select claim_event(?, ?)")
          .params("billing", id).query(Boolean.class).single();
      if (!isFirst || record.value() == null) {
        return;
      }
      JsonNode event = json.readTree(record.value());
      if (!event.required("event").asString().equals("OrderPlaced")) {
        return;
      }
      database.sql(
          "insert into invoice (order_id, customer, cents) values (?, ?, ?)")
          .params(event.required("orderId").longValue(),
              event.required("customer").asString(),
              event.required("cents").longValue())
          .update();
    }
  }
  // end: listener
}
