#include "postgres/connect/connect_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;

TEST(ConnectHintTest, SaysWhatToDo) {
  const std::pair<const char*, const char*> rows[] = {
      {"SSL error: certificate verify failed",
       "openssl s_client -starttls postgres -connect db:6432 </dev/null"},
      {"server certificate for \"a\" does not match host name \"b\"",
       "set host to a name of the certificate"},
      {"SSL error: tlsv1 alert unknown ca", "certificate in sslcert"},
      {"SSL error: sslv3 alert certificate expired", "certificate in sslcert"},
      {"FATAL: connection requires a valid client certificate",
       "set sslcert and sslkey"},
      {"root certificate file \"/x\" does not exist", "set sslrootcert"},
      {"FATAL: no pg_hba.conf entry for host \"::1\", user \"u\", database "
       "\"d\", no encryption",
       "set sslmode=verify-full and sslrootcert"},
      {"server does not support SSL, but SSL was required", "set ssl = on"},
  };
  for (const auto& [message, hint] : rows) {
    EXPECT_THAT(ConnectHint(message, "db", "6432"), HasSubstr(hint)) << message;
  }
}

TEST(ConnectHintTest, IsEmptyForOtherCauses) {
  EXPECT_EQ(ConnectHint("Connection refused", "db", "5432"), "");
  EXPECT_EQ(ConnectHint("FATAL: password authentication failed", "db", "1"),
            "");
}

}  // namespace
}  // namespace walpost
