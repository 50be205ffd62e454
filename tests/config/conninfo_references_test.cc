#include "config/conninfo_references.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <map>
#include <memory>

#include "absl/status/status.h"
#include "config/conninfo.h"

namespace walpost {
namespace {

using Settings = std::map<std::string, std::string>;

// Every character that a conninfo may give a meaning, and some more.
constexpr char kOdd[] =
    "a b'c\\d@e/f%41?g#h:i&j=k$l\"m\n\t[n]{o},;+~.-_\xC3\xA9'\\";

absl::StatusOr<std::string> Substituted(std::string_view text,
                                        const std::string& value) {
  Environment environment;
  environment.variable = [&](const std::string&) { return value; };
  environment.file = [&](const std::string&) -> absl::StatusOr<std::string> {
    return value;
  };
  return SubstituteInConninfo(text, environment);
}

// As libpq reads the text.
Settings Read(std::string_view text, const std::string& value) {
  const auto conninfo = Substituted(text, value);
  if (!conninfo.ok()) return {{"error", conninfo.status().ToString()}};
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(conninfo->c_str(), &error), PQconninfoFree);
  if (options == nullptr) return {{"error", error}};
  Settings settings;
  for (const PQconninfoOption* o = options.get(); o->keyword != nullptr; ++o) {
    if (o->val != nullptr) settings[o->keyword] = o->val;
  }
  return settings;
}

TEST(ConninfoReferencesTest, APasswordMayHaveAnyCharacter) {
  for (const char* text :
       {"host=db password=${env:PW} user=u",
        "host=db password='${env:PW}' user=u",
        "host=db password = ${file:/pw} user=u",
        "password=${env:PW} user=u host=db",
        "user=u host=db password=${env:PW}", "postgresql://u:${env:PW}@db",
        "postgres://u:${file:/pw}@db/", "postgresql://u@db?password=${env:PW}",
        "postgresql://db/?user=u&password=${env:PW}"}) {
    Settings settings = Read(text, kOdd);
    settings.erase("dbname");
    EXPECT_EQ(settings,
              (Settings{{"host", "db"}, {"password", kOdd}, {"user", "u"}}))
        << text;
  }
}

TEST(ConninfoReferencesTest, APartOfAValueIsQuotedToo) {
  EXPECT_EQ(Read("user=a${env:X}b", "' \\")["user"], "a' \\b");
  EXPECT_EQ(Read("user='a ${env:X} b'", "' \\")["user"], "a ' \\ b");
  EXPECT_EQ(Read("user=a\\ b\\'${env:X}", "c d")["user"], "a b'c d");
  EXPECT_EQ(Read("user=${env:X}${env:Y} host=h", " ")["user"], "  ");
}

TEST(ConninfoReferencesTest, AnEmptyValueIsAValue) {
  EXPECT_EQ(Read("password=${env:X} host=db", ""),
            (Settings{{"host", "db"}, {"password", ""}}));
}

TEST(ConninfoReferencesTest, PartsOfAUri) {
  const Settings all = Read("postgresql://u@${env:X}/shop", "a:1,[::1]:2,b");
  EXPECT_EQ(all.at("host"), "a,::1,b");
  EXPECT_EQ(all.at("port"), "1,2,");
  EXPECT_EQ(Read("postgresql://db/${env:X}", "a?b/c")["dbname"], "a?b/c");
  EXPECT_EQ(Read("postgresql://${env:X}/shop", "/run/pg")["host"], "/run/pg");
  const Settings login = Read("postgresql://${env:X}@db/shop", "u:p:@/");
  EXPECT_EQ(login.at("user"), "u");
  EXPECT_EQ(login.at("password"), "p:@/");
}

TEST(ConninfoReferencesTest, SettingsInAVariableStayAsTheyAre) {
  EXPECT_EQ(Read("${env:X}", "host=db password='a b'"),
            (Settings{{"host", "db"}, {"password", "a b"}}));
  EXPECT_EQ(Read("${env:X} user=u", "host=db port=5"),
            (Settings{{"host", "db"}, {"port", "5"}, {"user", "u"}}));
  EXPECT_EQ(Read("${env:X}", "postgresql://u:p%40@db")["password"], "p@");
  EXPECT_EQ(Read("postgresql://db?${env:X}", "user=u&port=5")["port"], "5");
}

TEST(ConninfoReferencesTest, ANulIsRefusedWithoutTheValue) {
  const auto conninfo =
      Substituted("password=${env:X}", std::string("a\0b", 3));
  EXPECT_EQ(conninfo.status().message(),
            "${env:X} has a NUL, which no conninfo can have");
}

// ---- Passwords in a URI that are not encoded.

TEST(ConninfoReferencesTest, APieceOfAPasswordIsNotAHost) {
  for (const char* uri :
       {"postgresql://u:hun@ter2@db/shop", "postgresql://u:hun/ter2@db/shop",
        "postgresql://u:hun@ter2/x@db", "postgresql://u:hun%ter2@db",
        "host=db password=hun ter2=x", "host=db password=hun ter2",
        "password=hun'ter2 ter2=x"}) {
    const absl::Status status = CheckConninfo(uri);
    EXPECT_FALSE(status.ok()) << uri;
    for (const char* piece : {"ter2", "hun"}) {
      EXPECT_EQ(std::string(status.message()).find(piece), std::string::npos)
          << status;
    }
  }
}

TEST(ConninfoReferencesTest, ASlipOfAKeywordIsNamedBesideAPassword) {
  EXPECT_NE(std::string(CheckConninfo("hots=db password=x").message())
                .find("\"hots\""),
            std::string::npos);
}

}  // namespace
}  // namespace walpost
