const int nothing_here = 1;
