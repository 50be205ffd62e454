#include "config/conninfo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <memory>
#include <string>

#include "config/secrets.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Row {
  const char* conninfo;
  const char* shown;
};

TEST(ConninfoTest, ShowsEverythingButSecrets) {
  const Row rows[] = {
      {"", ""},
      {"host=db", "host=db"},
      {"host=db password=hunter2", "password=******** host=db"},
      {"password=hunter2", "password=********"},
      {"password = 'hun ter\\'2'", "password=********"},
      {"password=''", "password=********"},
      {"host=db sslpassword=hunter2", "host=db sslpassword=********"},
      {"postgresql://db", "host=db"},
      {"postgres://u:hunter2@db:6432/shop",
       "user=u password=******** dbname=shop host=db port=6432"},
      {"postgresql://db/shop?user=u&password=hunter2",
       "user=u password=******** dbname=shop host=db"},
      {"postgresql://u:hunter%32@db", "user=u password=******** host=db"},
      {"postgresql://a,b:2/x?target_session_attrs=read-write",
       "dbname=x host=a,b port=,2 target_session_attrs=read-write"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(HideConninfoSecrets(row.conninfo), row.shown) << row.conninfo;
  }
}

// libpq marks its secrets for dialogs: what is shown as "*".
TEST(ConninfoTest, HidesWhateverLibpqCallsASecret) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconndefaults(), PQconninfoFree);
  int secrets = 0;
  for (const PQconninfoOption* o = options.get(); o->keyword != nullptr; ++o) {
    if (std::string_view(o->dispchar) != "*") continue;
    ++secrets;
    EXPECT_THAT(HideConninfoSecrets(std::string(o->keyword) + "=hunter2"),
                Not(HasSubstr("hunter2")))
        << o->keyword;
  }
  EXPECT_GE(secrets, 2);  // password, sslpassword
}

TEST(ConninfoTest, LibpqJudgesValuesWithoutAServer) {
  const Row refused[] = {
      {"host=db port=99999", "port"},
      {"host=db port=abc", "port"},
      {"host=db sslmode=requier", "sslmode value: \"requier\""},
      {"host=db target_session_attrs=foo", "target_session_attrs"},
      {"host=db channel_binding=x", "channel_binding"},
      {"host=db replication=database", "replication is what walpost sets"},
      {"postgresql://u:hunter2@db/x?sslmode=x", "sslmode"},
  };
  for (const Row& row : refused) {
    const absl::Status status = CheckConninfo(row.conninfo);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.conninfo;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.shown));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
  }
  for (const char* valid :
       {"", "host=db", "host=a,b,c port=1,2,3", "host=a,b port=5432",
        "hostaddr=127.0.0.1,127.0.0.2 port=1,2", "service=orders sslmode=x",
        "host=/run/postgresql", "host=@abstract", "passfile=/nonexistent/x",
        "host=db sslmode=verify-full sslrootcert=/nonexistent/ca.pem",
        "host=db keepalives=0 connect_timeout=3 gssencmode=disable"}) {
    EXPECT_TRUE(CheckConninfo(valid).ok())
        << valid << ": " << CheckConninfo(valid);
  }
}

TEST(ConninfoTest, AnAddressOfTheEnvironmentIsNotAsked) {
  setenv("PGHOSTADDR", "127.0.0.1", 1);
  EXPECT_TRUE(CheckConninfo("host=db sslmode=requier").ok());
  unsetenv("PGHOSTADDR");
}

TEST(ConninfoTest, QuotesWhatNeedsIt) {
  const Row rows[] = {
      {"application_name='a b'", "application_name='a b'"},
      {"application_name='it\\'s'", "application_name='it\\'s'"},
      {"application_name='a\\\\b'", "application_name='a\\\\b'"},
      {"application_name=''", "application_name=''"},
      {"application_name='a=b'", "application_name=a=b"},
      {"application_name='\ta'", "application_name='\ta'"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(HideConninfoSecrets(row.conninfo), row.shown);
  }
}

TEST(ConninfoTest, WhatIsShownParsesAndStaysTheSame) {
  for (const std::string conninfo :
       {"host=db password=x", "postgresql://u:p@[::1]:5/d?options=-c%20a%3Db",
        "application_name='\\'' user='\\\\' host='a b'",
        "application_name='\v' host='\f\r'", "user='=' dbname=''"}) {
    const std::string shown = HideConninfoSecrets(conninfo);
    EXPECT_TRUE(CheckConninfo(shown).ok()) << shown;
    EXPECT_EQ(HideConninfoSecrets(shown), shown);
  }
}

TEST(ConninfoTest, AcceptsWhatLibpqAccepts) {
  for (const char* conninfo :
       {"", " ", "host=db", "host = db", "postgresql://", "postgres:///shop",
        "postgresql://%2Ftmp/shop", "host=a,b port=1,2"}) {
    EXPECT_TRUE(CheckConninfo(conninfo).ok()) << conninfo;
  }
}

struct Refusal {
  const char* conninfo;
  const char* reason;
};

TEST(ConninfoTest, RefusesTheRestAndGivesLibpqsReason) {
  const Refusal rows[] = {
      {"db", "missing \"=\""},
      {"hots=db", "invalid connection option \"hots\""},
      {"host='db", "unterminated quoted string"},
      {"=db", "invalid connection option \"\""},
      {"postgresql://db?colour=red", "invalid URI query parameter: \"colour\""},
      {"postgresql://[::1", "IPv6 host address"},
      {"postgresql://%zz", "invalid percent-encoded token"},
      {"postgresql://a%00b", "forbidden value %00"},
  };
  for (const Refusal& row : rows) {
    const absl::Status status = CheckConninfo(row.conninfo);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.conninfo;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("libpq does not understand it: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.reason));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  }
}

const char* const kMalformedWithPassword[] = {
    "host=db password=first hunter2",
    "host=db password='hunter2",
    "hunter2",
    "postgresql://u:hunter2%zz@db",
    "postgresql://u:hunter2@[::1",
    "postgresql://u:hunter2@[::1]x",
    "postgresql://u:hunter2@db?colour=red",
    "postgresql://u:p@db?password=hunter2=x",
};

TEST(ConninfoTest, AReasonHoldsNoPassword) {
  for (const char* conninfo : kMalformedWithPassword) {
    const absl::Status status = CheckConninfo(conninfo);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << conninfo;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")))
        << conninfo;
  }
}

TEST(ConninfoTest, WhatDoesNotParseIsHiddenWhole) {
  for (const char* conninfo : kMalformedWithPassword) {
    EXPECT_EQ(HideConninfoSecrets(conninfo), kHidden) << conninfo;
  }
}

TEST(ConninfoTest, SaysWhoConnectsAlsoWithoutTheSecret) {
  const auto unreadable = [](const std::string& text) {
    return ReloadableText(text, [] {
      return absl::StatusOr<std::string>(absl::UnavailableError("gone"));
    });
  };
  const std::pair<ReloadableText, const char*> rows[] = {
      {"dbname=shop user=walpost", "walpost"},
      {"postgresql://walpost:x@db/shop", "walpost"},
      {"user='a b\\'c'", "a b'c"},
      {"dbname=shop", ""},
      {"", ""},
      {unreadable("user=walpost password=${env:X}"), "walpost"},
      {unreadable("password='${file:/x y}' user=walpost"), "walpost"},
      {unreadable("user=${env:X}"), ""},
      {unreadable("user=a${env:X}"), ""},
      {unreadable("postgresql://walpost:${env:X}@db/shop"), "walpost"},
      {unreadable("user=walpost password=${"), ""},
  };
  for (const auto& [conninfo, user] : rows) {
    EXPECT_EQ(ConninfoValue(conninfo, "user"), user) << conninfo.configured();
  }
}

TEST(ConninfoTest, TakesOneMoreValue) {
  EXPECT_EQ(WithConninfoValue("user=postgres", "dbname", "my shop"),
            "dbname='my shop' user=postgres");
  EXPECT_EQ(WithConninfoValue("", "dbname", "shop"), "dbname=shop");
  EXPECT_EQ(WithConninfoValue("postgresql://postgres@db", "dbname", "shop"),
            "dbname=shop user=postgres host=db");
}

}  // namespace
}  // namespace walpost
