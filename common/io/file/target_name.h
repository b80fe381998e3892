// From a target's name to the directory that holds it. `base` is resolved as the user meant it,
// links and all (within the jail, where there is one); what lies below came from a peer or from a
// walk: there no link is followed, whoever put it there and whenever. Blocking calls: worker
// threads.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "common/io/file/root.h"
#include "common/ports/disk.h"

namespace lambda::io {

// Missing directories are made where `make` is set: 0777 & ~umask as far as the user named them;
// below that 0700, since there they have modes of their own, which come later if they come at all.
Result<Root::Place> place_of(const Root& root, const ports::TargetName& name, bool make);

// Where a name that the user gave leads once the links in its last component were followed, also
// where they show nothing yet. `type`: S_IFMT bits of what stands there, 0 for nothing.
struct NamedPlace {
    Root::Place place;
    mode_t type = 0;
};
Result<NamedPlace> place_behind_links(const Root& root, const std::string& name, bool make);

// To read what may be no file at all, or a link, which is not followed. -1 and errno.
int open_standing(int directory, const std::string& leaf);

// Directories of targets, opened once for those that follow each other. One thread.
class TargetDirectories {
  public:
    // `make`: missing ones are made.
    explicit TargetDirectories(const Root& root, bool make) : root_(root), make_(make) {}

    static constexpr std::size_t kMostMade = 8192;  // more are taken for others'

    struct Directory {
        Descriptor opened;  // O_PATH
        dev_t device = 0;
        bool ours = false;  // was made by us: nothing is in it but what we put there
    };
    struct Place {
        std::shared_ptr<const Directory> directory;
        std::string leaf;
    };
    // As place_of(). `name.below` is not empty.
    Result<Place> place(const ports::TargetName& name);

    // A directory was made just now; and no more is put into it.
    void note_made(const ports::TargetName& directory);
    void note_done(const ports::TargetName& directory);

  private:
    static std::string key_of(const std::string& base, const std::string& below);

    const Root& root_;
    const bool make_;
    std::string base_name_;
    Descriptor base_;
    std::string last_name_;
    std::shared_ptr<const Directory> last_;
    std::unordered_set<std::string> made_;  // and not done
};

}  // namespace lambda::io
