// This target defines _exit, _Exit and daemon, which note that the process exits. The system's headers declare these
// functions, so nothing is declared here.
#ifndef CPROCESSENDS_H
#define CPROCESSENDS_H
#endif
