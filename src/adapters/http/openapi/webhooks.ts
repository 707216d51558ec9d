const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  example,
  schema: { type: 'string' },
});

/** The requests to the endpoints that the service's operator has configured. */
export const webhooks = {
  newPlant: {
    post: {
      operationId: 'newPlant',
      tags: ['Plants over time'],
      summary: 'A plant is new or has changed',
      description:
        'Sent at least once with the newest record of each plant, and signed as the Standard Webhooks specification ' +
        'says. Deletions are not sent: `/changes` has them. Of one plant, keep the last `webhook-id`, and ignore the ' +
        'same one and smaller ones with the same first part (docs/webhooks.md).',
      // Its signature takes the place of a token.
      security: [],
      parameters: [
        header(
          'webhook-id',
          'The same whenever the same state of a plant is sent again; `msg_`, an epoch, a number of 19 digits that ' +
            'grows with each change of the plant within the epoch, its id, and a digest of the body, joined by `_`',
          'msg_3f0c9a4be5d18a2b77c6d1e0f9481a35_0000000000000000754_1_9b74c9897bac770f',
        ),
        header('webhook-timestamp', 'When it was sent: seconds since 1970', '1793404800'),
        header(
          'webhook-signature',
          'One signature or several, separated by spaces, each `v1,` and the base64 of an HMAC-SHA256',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPlant' } } },
      },
      responses: {
        '2XX': { description: 'received: it is not sent again' },
        410: { description: 'the endpoint wants no more: nothing is sent until its operator resumes it' },
        default: { description: 'sent again later, after `Retry-After` at the earliest' },
      },
    },
  },
};
