// SQLite's objects as C++ ones. Errors are codes of SQLite: whoever owns the
// database says what it was for.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace walpost {

// A value of type BLOB; nullopt: NULL.
struct SqliteBytes {
  std::optional<std::string_view> bytes;
};

// A prepared statement, which may be run again and again.
class SqliteStatement {
 public:
  // Not prepared yet (SqliteDatabase::Prepare).
  SqliteStatement() = default;

  // Copies the values of all parameters, in their order.
  template <typename... Values>
  void Bind(const Values&... values) {
    int column = 0;
    (BindOne(++column, values), ...);
  }
  // SQLITE_ROW: there is another row, which is valid until the next call.
  // SQLITE_DONE: there is none.
  int Step() { return sqlite3_step(statement_.get()); }
  void Reset() { sqlite3_reset(statement_.get()); }

  int64_t Number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
  }
  std::string Text(int column) const;  // NULL: empty

 private:
  friend class SqliteDatabase;

  void BindOne(int column, int64_t number);
  void BindOne(int column, const std::optional<int64_t>& number);
  void BindOne(int column, const std::string& text);
  void BindOne(int column, const std::optional<std::string>& text);
  void BindOne(int column, const SqliteBytes& value);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const {
      sqlite3_finalize(statement);
    }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Outlives its statements.
class SqliteDatabase {
 public:
  // An empty path: a temporary file that SQLite removes.
  int Open(const std::string& path);
  int Execute(const std::string& sql);
  int Prepare(std::string_view sql, SqliteStatement& statement) const;

  // The error of the last call.
  int code() const { return sqlite3_errcode(database_.get()); }
  const char* message() const { return sqlite3_errmsg(database_.get()); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace walpost
