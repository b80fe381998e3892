// A database by way of another: what a test changes, it overrides.
#pragma once

#include <memory>

#include "client/replicate/database.h"

namespace lambda::client::replicate {

class ForwardingDatabase : public Database {
  public:
    explicit ForwardingDatabase(std::unique_ptr<Database> inner) : inner_(std::move(inner)) {}
    const Dialect& dialect() const override { return inner_->dialect(); }
    bool shared() const override { return inner_->shared(); }
    Result<bool> conduct() override { return inner_->conduct(); }
    bool somebody_conducts() const override { return inner_->somebody_conducts(); }
    const std::string& name() const override { return inner_->name(); }
    Result<void> make_tables(const std::string& statements, std::int64_t version) override {
        return inner_->make_tables(statements, version);
    }
    Result<std::size_t> run(std::string_view sql, const Values& values, const Each& each) override {
        return inner_->run(sql, values, each);
    }
    Result<void> run_many(std::string_view sql, std::size_t count, const Fill& fill) override {
        return inner_->run_many(sql, count, fill);
    }
    Result<void> execute(const std::string& sql) override { return inner_->execute(sql); }
    Result<void> begin() override { return inner_->begin(); }
    Result<void> commit() override { return inner_->commit(); }
    void roll_back() override { inner_->roll_back(); }
    Result<bool> recover() override { return inner_->recover(); }
    void while_waiting(Meanwhile meanwhile) override {
        inner_->while_waiting(std::move(meanwhile));
    }

  protected:
    std::unique_ptr<Database> inner_;
};

}  // namespace lambda::client::replicate
