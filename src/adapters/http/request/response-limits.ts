import type { ServerResponse } from 'node:http';
import type { Reply } from '../contract/responses.ts';
import { HttpError } from '../http-errors.ts';

/** Whether it is sent in one go, and not streamed. */
export function isWhole(body: Reply['body']): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

interface ResponseLimits {
  /** Total bytes of the bodies that clients have not read yet. */
  readonly maxBytes: number;
  /** Responses that are streamed at once. */
  readonly maxStreams: number;
}

/** Bytes of a body that is not worth counting: a socket's own buffer is larger. */
const SMALL = 16 * 1024;

/** Bounds the memory that clients occupy by reading their responses slowly. */
export function responseLimits({ maxBytes, maxStreams }: ResponseLimits) {
  let bytes = 0;
  let streams = 0;

  return {
    /** Responses that are being streamed. */
    streams: () => streams,
    /** Counts a body until its response closes. @throws HttpError `overloaded` or `too_many_alike` if that is too much */
    count(response: ServerResponse, body: Reply['body']): void {
      // The client has left: nothing will be sent, and the response may have closed before.
      if (body === undefined || response.req.socket.destroyed) return;
      if (!isWhole(body)) {
        if (streams >= maxStreams) throw new HttpError('too_many_alike');
        streams++;
        response.once('close', () => streams--);
        return;
      }
      const size = Buffer.byteLength(body);
      if (size <= SMALL) return;
      // A single body is always sent, however large.
      if (bytes > 0 && bytes + size > maxBytes) throw new HttpError('overloaded');
      bytes += size;
      response.once('close', () => {
        bytes -= size;
      });
    },
  };
}

export type ResponseCount = ReturnType<typeof responseLimits>['count'];
