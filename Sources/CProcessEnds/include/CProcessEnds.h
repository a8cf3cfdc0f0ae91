// This target defines its own _exit, _Exit and daemon, which notify the crash handler that the process exits or
// continues in a child. The system's headers declare these functions, so nothing is declared here.
#ifndef CPROCESSENDS_H
#define CPROCESSENDS_H
#endif
