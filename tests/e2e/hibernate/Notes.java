import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Lob;
import jakarta.persistence.MappedSuperclass;
import jakarta.persistence.PersistenceException;
import jakarta.persistence.Table;
import java.util.UUID;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.ColumnTransformer;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.UuidGenerator;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** What docs/produce.md says about Hibernate, for test_producers.py. */
public class Notes {
  @MappedSuperclass
  static class Event {
    @Id
    @UuidGenerator
    UUID id;

    @Column(name = "aggregate_type")
    String type = "order";

    @Column(name = "aggregate_id")
    String key = "1";
  }

  @MappedSuperclass
  static class TextEvent extends Event {
    @ColumnTransformer(write = "?::json")
    String payload;
  }

  @Entity
  @Table(name = "outbox")
  static class A extends TextEvent {}

  @Entity
  @Table(name = "outbox_b")
  static class B extends TextEvent {}

  @Entity(name = "J")
  @Table(name = "outbox")
  static class J extends Event {
    @JdbcTypeCode(SqlTypes.JSON)
    String payload;
  }

  @Entity
  @Table(name = "outbox_lob")
  static class LobText {
    @Id
    @UuidGenerator
    UUID id;

    @Lob
    String payload;
  }

  @Entity
  @Table(name = "outbox_avro")
  static class LobBytes extends Event {
    @Lob
    byte[] payload;
  }

  private static <E extends TextEvent> E event(E event, int payload) {
    event.payload = Integer.toString(payload);
    return event;
  }

  private static SessionFactory sessions(boolean orderInserts) {
    return new Configuration()
        .addAnnotatedClass(A.class).addAnnotatedClass(B.class)
        .addAnnotatedClass(J.class).addAnnotatedClass(LobText.class)
        .addAnnotatedClass(LobBytes.class)
        .setProperty("hibernate.connection.url", String.format(
            "jdbc:postgresql://%s:%s/%s", System.getenv("PGHOST"),
            System.getenv("PGPORT"), System.getenv("PGDATABASE")))
        .setProperty("hibernate.connection.username", System.getenv("PGUSER"))
        .setProperty("hibernate.order_inserts", Boolean.toString(orderInserts))
        .buildSessionFactory();
  }

  public static void main(String[] words) {
    try (SessionFactory plain = sessions(false);
        SessionFactory ordering = sessions(true)) {
      plain.inTransaction(session -> {
        session.persist(event(new A(), 1));
        session.persist(event(new B(), 101));
        session.persist(event(new A(), 2));
        session.persist(event(new B(), 102));
      });
      ordering.inTransaction(session -> {
        session.persist(event(new A(), 3));
        session.persist(event(new B(), 103));
        session.persist(event(new A(), 4));
        session.persist(event(new B(), 104));
      });
      plain.inTransaction(session -> {
        A changed = event(new A(), 5);
        session.persist(changed);
        changed.payload = "6";
      });
      plain.inTransaction(session -> {
        A removed = event(new A(), 7);
        session.persist(removed);
        session.remove(removed);
      });
      plain.inTransaction(session -> {
        A removed = event(new A(), 8);
        session.persist(removed);
        session.flush();
        session.remove(removed);
      });
      plain.inTransaction(session -> {
        J printed = new J();
        printed.payload = "{\"b\":1,  \"a\":2}";
        session.persist(printed);
      });
      plain.inTransaction(session -> {
        LobText large = new LobText();
        large.payload = "{}";
        session.persist(large);
      });
      try {
        plain.inTransaction(session -> {
          LobBytes large = new LobBytes();
          large.payload = new byte[1];
          session.persist(large);
        });
        throw new AssertionError("@Lob on byte[] has written a bytea");
      } catch (PersistenceException expected) {
        System.out.println(expected.getMessage());
      }
    }
  }
}
