export { freePort } from '../../tooling/free-port.ts';
