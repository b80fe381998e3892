// A destination of this machine. What was named may be a link that leads to it; below it no link is
// followed, whoever put it there and whenever. One thread.
#pragma once

#include <optional>
#include <string>

#include "client/replicate/listing.h"
#include "common/io/file/root.h"

namespace lambda::client::replicate {

// A directory below a destination, held open: `path` leads to it and nowhere else while it lives.
struct HeldDirectory {
    io::Descriptor directory;
    std::string path;  // in /proc
    std::string text;  // as the user knows it

    // In an error about something in it.
    void name(Error& error) const;
};

class PlaceHere {
  public:
    explicit PlaceHere(std::string path) : path_(std::move(path)) {}

    // `name`: as of an Entry.
    There stand(const std::string& name);
    // Missing directories are made.
    Result<HeldDirectory> hold(const std::string& below) const;

  private:
    There stand_itself() const;

    std::string path_;
    io::Descriptor base_;
    std::string last_name_;
    io::Descriptor last_;  // the directory `last_name_`, of the name that was looked at last
    int last_error_ = 0;   // why it is not open
};

}  // namespace lambda::client::replicate
