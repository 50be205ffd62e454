#include "config/broker_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;

TEST(BrokerListTest, TakesWhatLibrdkafkaTakes) {
  for (const char* brokers :
       {"kafka:9092", "kafka", "a:1,b:65535", "a:1, b:2", "a:1,,b:2,",
        "[::1]:9092", "SASL_SSL://kafka:9093", "ssl://a:1", "10.0.0.1:9092"}) {
    EXPECT_TRUE(CheckBrokerList(brokers).ok()) << CheckBrokerList(brokers);
  }
}

TEST(BrokerListTest, NamesThePartThatIsWrong) {
  const struct {
    const char* brokers;
    const char* part;
    const char* trouble;
  } kRows[] = {
      {"127.0.0.1:99999", "'127.0.0.1:99999'", "port '99999' is not a number"},
      {"a:1,b:0", "'b:0'", "port '0' is not a number from 1 to 65535"},
      {"a:", "'a:'", "port '' is not a number"},
      {"a:+1", "'a:+1'", "port '+1' is not a number"},
      {"a:1x", "'a:1x'", "port '1x' is not a number"},
      {":9092", "':9092'", "the host is missing"},
      {"SSL://", "'SSL://'", "the host is missing"},
      {"http://a:1", "'http://a:1'", "'http' is not a security protocol"},
      {"a:1 b:2", "'a:1 b:2'", "commas separate brokers"},
      {"a:1;b:2", "'a:1;b:2'", "commas separate brokers"},
      {"a:1/x", "'a:1/x'", "slashes"},
      {"::1", "'::1'", "the host is missing"},
      {"fe80::1", "'fe80::1'", "an IPv6 address stands in brackets"},
      {"[a:1, b:2]", "'[a:1'", "a list of brokers is not in quotes"},
      {"[a]", "'[a]'", "brackets stand around an IPv6 address"},
      {"[a]:1", "'[a]:1'", "brackets stand around an IPv6 address"},
      {"a:1]", "'a:1]'", "brackets stand around an IPv6 address"},
      {"[::1]9092", "'[::1]9092'", "brackets stand around an IPv6 address"},
      {"[[::1]]:1", "'[[::1]]:1'", "brackets stand around an IPv6 address"},
      {" ", "' '", "names no broker"},
      {",", "','", "names no broker"},
  };
  for (const auto& row : kRows) {
    const absl::Status status = CheckBrokerList(row.brokers);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.brokers;
    EXPECT_THAT(status.message(), HasSubstr(row.part));
    EXPECT_THAT(status.message(), HasSubstr(row.trouble));
    EXPECT_THAT(status.message(), HasSubstr("as in 127.0.0.1:9092"));
  }
}

TEST(BrokerListTest, ShowsNoPasswordOfAUri) {
  for (const char* brokers :
       {"sasl://u:pw@a:1", "u:pw@a:1", "a:1,SASL_SSL://u:p,pw@b:2"}) {
    const absl::Status status = CheckBrokerList(brokers);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << brokers;
    EXPECT_THAT(status.message(), ::testing::Not(HasSubstr("pw")));
    EXPECT_THAT(status.message(), HasSubstr("sasl.password"));
  }
}

}  // namespace
}  // namespace walpost
