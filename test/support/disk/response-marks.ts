import { openSync, writeSync } from 'node:fs';
import { ServerResponse } from 'node:http';

/*
 * Loaded before a program (NODE_OPTIONS=--import): writes to the file MARK_TO which response it sends, by the request's header
 * `X-Operation`, for who traces its system calls.
 */

const marks = openSync(process.env.MARK_TO ?? '', 'a');
const end = ServerResponse.prototype.end;
ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
  const operation = this.req.headers['x-operation'];
  if (operation !== undefined) writeSync(marks, `${this.statusCode} ${operation}\n`);
  return Reflect.apply(end, this, args);
};
