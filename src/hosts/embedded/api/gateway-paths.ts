/** The paths under which the gateway itself answers; plugins have to choose others. */
export const API_PATH = "/api/v1";
/** Says that the process lives; takes no token. */
export const HEALTH_PATH = "/health";
