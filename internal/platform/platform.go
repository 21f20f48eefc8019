// Package platform is empty. Where the library cannot work it does not build, and what imports it says why in one line
// of the compiler: so the lowest packages import it.
package platform
