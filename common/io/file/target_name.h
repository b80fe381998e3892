// From a target's name to the directory that holds it. `base` is resolved as the user meant it,
// links and all (within the jail, where there is one); what lies below came from a peer or from a
// walk: there no link is followed, whoever put it there and whenever. Blocking calls: worker
// threads.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
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

// Whether these are two directories, as far as their inode numbers tell: those of some file systems
// are made up anew when a name was forgotten.
bool differ(const Descriptor& one, const Descriptor& other);

// To read what may be no file at all, or a link, which is not followed. -1 and errno.
int open_standing(int directory, const std::string& leaf);

// Directories of targets, opened once for those that follow each other. One thread.
class TargetDirectories {
  public:
    // `make`: missing ones are made.
    explicit TargetDirectories(const Root& root, bool make) : root_(root), make_(make) {}

    // More are taken for others', and not looked at when they are done.
    static constexpr std::size_t kMostEntered = 8192;

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

    // A directory into which more is put, `made` by us just now.
    void note_entered(const ports::TargetName& directory, bool made);
    // No more is put into it, and it is opened as `done`. An error where it is another one than was
    // entered: what was put into that is not below its name.
    Result<void> check_done(const ports::TargetName& directory, const Descriptor& done);

  private:
    struct Entered {
        dev_t device = 0;
        ino_t inode = 0;
        bool ours = false;
    };
    static std::string key_of(const std::string& base, const std::string& below);

    const Root& root_;
    const bool make_;
    std::string base_name_;
    Descriptor base_;
    std::string last_name_;
    std::shared_ptr<const Directory> last_;
    std::unordered_map<std::string, Entered> entered_;  // and not done
};

}  // namespace lambda::io
